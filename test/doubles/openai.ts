// OpenAI: chat completions and responses, plain and streamed; embeddings, images, the model list. And vendors that
// speak like it and differ in where they are and whom they let in.

import type { Asked } from "./asked.ts";
import { createModelBook } from "./model-book.ts";
import type { ModelBilled, ModelDouble } from "./model-book.ts";
import { defaultReply, planReply } from "./model-reply.ts";
import type { ScriptedReply } from "./model-reply.ts";
import { choiceCount, streamedChat, wholeChat } from "./openai-chat.ts";
import { checkChat, readChat } from "./openai-chat-request.ts";
import { checkEmbeddings, embeddingsOf, embeddingTokens } from "./openai-embeddings.ts";
import { checkImages, imageTokens, imagesOf } from "./openai-images.ts";
import { refuse } from "./openai-refusal.ts";
import type { Problem } from "./openai-refusal.ts";
import { checkResponses, readResponses } from "./openai-responses-request.ts";
import { streamedResponse, wholeResponse } from "./openai-responses.ts";
import { chatUsage, embeddingsUsage, imagesUsage, responsesUsage } from "./openai-usage.ts";
import { countTokens } from "./ranking.ts";
import type { Answer } from "./scripted-answer.ts";
import { countedOf, planUsage } from "./token-usage.ts";
import type { UsageOption } from "./token-usage.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import { createIds, hasBearer, jsonAnswer, readJsonObject, withHeader } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export type OpenAiBilled = ModelBilled;

export interface OpenAiOptions {
  readonly key: string;
  readonly models?: readonly string[];
  /** What an answer says; a string is its text. */
  readonly reply?: string | ScriptedReply | ((body: JsonObject) => string | ScriptedReply);
  /** What it costs; `omitted` leaves it out, and in a stream leaves out its extra chunk. */
  readonly usage?: UsageOption;
  /** Where it is, in front of `/chat/completions`. */
  readonly basePath?: string;
  /** Whom it lets in, instead of whoever brings the key as a bearer. */
  readonly admits?: (request: RecordedRequest) => boolean;
}

export const openOpenAiDouble = async ({
  key,
  models = ["gpt-x"],
  reply = defaultReply,
  usage: option,
  basePath = "/v1",
  admits = (request) => hasBearer(request, key),
}: OpenAiOptions): Promise<ModelDouble> => {
  const book = createModelBook();
  const asked: Asked[] = [];
  const nextRequestId = createIds("req_");
  const nextCompletionId = createIds("chatcmpl-");
  const nextResponseId = createIds("resp_");

  const identified =
    (handler: (request: RecordedRequest, requestId: string) => Answer): Handler =>
    (request) => {
      const requestId = nextRequestId();
      const answer = admits(request)
        ? handler(request, requestId)
        : refuse(401, keyRefusal(request.headers.map(([name]) => name)));
      return withHeader(answer, ["x-request-id", requestId]);
    };

  const accepted = (
    check: (body: JsonObject) => Problem | undefined,
    work: (work: { readonly body: JsonObject; readonly model: string } & Identified) => Answer,
  ): Handler =>
    identified((request, requestId) => {
      const body = readJsonObject(request);
      if (typeof body === "string") {
        return refuse(400, { message: `We could not parse the JSON body of your request. (${body})` });
      }
      const problem = check(body);
      if (problem) return refuse(400, problem);
      const model = String(body["model"]);
      if (!models.includes(model)) {
        const message = `The model \`${model}\` does not exist or you do not have access to it.`;
        return refuse(404, { message, code: "model_not_found" });
      }
      return work({ body, model, request, requestId });
    });

  const completions = accepted(checkChat, ({ body, model, request, requestId }) => {
    const wanted = readChat(body);
    asked.push(wanted);
    const said = planReply(typeof reply === "function" ? reply(body) : reply, wanted);
    const one = countedOf(countTokens(JSON.stringify(body["messages"])), said);
    const counted = { ...one, output: said.outputTokens * choiceCount(body) };
    const usage = planUsage({ option, body, counted, dialect: chatUsage });
    const report = book.charge({ request, requestId, model, usage, say: chatUsage.say });
    const completion = { id: nextCompletionId(), created: createdSeconds, model };
    const parts = { completion, reply: said, usage: usage.stated(usage.tokens), body };
    return wanted.stream ? streamedChat({ ...parts, report }) : wholeChat(parts);
  });

  const responses = accepted(checkResponses, ({ body, model, request, requestId }) => {
    const wanted = readResponses(body);
    asked.push(wanted);
    const said = planReply(typeof reply === "function" ? reply(body) : reply, wanted);
    const counted = countedOf(countTokens(JSON.stringify([body["instructions"], body["input"]])), said);
    const usage = planUsage({ option, body, counted, dialect: responsesUsage });
    const report = book.charge({ request, requestId, model, usage, say: responsesUsage.say });
    const parts = {
      response: { id: nextResponseId(), created_at: createdSeconds, model },
      reply: said,
      usage: usage.stated(usage.tokens),
      body,
    };
    return wanted.stream ? streamedResponse({ ...parts, report }) : wholeResponse(parts);
  });

  const embeddings = accepted(checkEmbeddings, ({ body, model, request, requestId }) => {
    const counted = { input: embeddingTokens(body) };
    const usage = planUsage({ option, body, counted, dialect: embeddingsUsage });
    book.charge({ request, requestId, model, usage, say: embeddingsUsage.say });
    return jsonAnswer(200, {
      object: "list",
      data: embeddingsOf(body),
      model,
      usage: usage.stated(usage.tokens),
    });
  });

  const images = accepted(checkImages, ({ body, model, request, requestId }) => {
    const counted = { input: countTokens(String(body["prompt"])), output: imageTokens * choiceCount(body) };
    const usage = planUsage({ option, body, counted, dialect: imagesUsage });
    book.charge({ request, requestId, model, usage, say: imagesUsage.say });
    return jsonAnswer(200, {
      created: createdSeconds,
      data: imagesOf(body),
      usage: usage.stated(usage.tokens),
    });
  });

  const double = await openVendorDouble({
    basePath,
    handlers: {
      [`POST ${basePath}/chat/completions`]: completions,
      [`POST ${basePath}/responses`]: responses,
      [`POST ${basePath}/embeddings`]: embeddings,
      [`POST ${basePath}/images/generations`]: images,
      [`GET ${basePath}/models`]: identified(() => jsonAnswer(200, modelList(models))),
      "*": ({ method, target }) =>
        refuse(404, {
          message: `Unknown request URL: ${method} ${target}.`,
          code: "unknown_url",
        }),
    },
  });
  return { ...double, book: book.entries, asked };
};

interface Identified {
  readonly request: RecordedRequest;
  readonly requestId: string;
}

const createdSeconds = 1_755_734_400;

const keyRefusal = (headerNames: readonly string[]): Problem =>
  headerNames.some((name) => name.toLowerCase() === "authorization")
    ? {
        // The real one echoes a masked key too: a gateway that passed it on would show the operator's.
        message: "Incorrect API key provided: sk-****************abcd.",
        code: "invalid_api_key",
      }
    : { message: "You didn't provide an API key." };

const modelList = (models: readonly string[]): JsonObject => ({
  object: "list",
  data: models.map((id) => ({ id, object: "model", created: createdSeconds, owned_by: "openai" })),
});
