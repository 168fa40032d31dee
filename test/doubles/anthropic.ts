// Anthropic: messages, plain and streamed, and the count of their tokens.

import { messagesUsage, streamedMessage, wholeMessage } from "./anthropic-message.ts";
import { checkMessages, omitsThought, readMessages, showsThinking } from "./anthropic-request.ts";
import type { Asked } from "./asked.ts";
import { headerValues } from "./http-wire.ts";
import { listOf, objectOf, stringOf } from "./json-read.ts";
import { createModelBook } from "./model-book.ts";
import type { ModelDouble } from "./model-book.ts";
import { defaultReply, planReply } from "./model-reply.ts";
import type { ScriptedReply } from "./model-reply.ts";
import { countTokens } from "./ranking.ts";
import type { Answer } from "./scripted-answer.ts";
import { countedOf, planUsage, promptOf } from "./token-usage.ts";
import type { UsageOption } from "./token-usage.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import {
  createIds,
  hasHeader,
  isObject,
  jsonAnswer,
  queryOf,
  readJsonObject,
  withHeader,
} from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export interface AnthropicOptions {
  readonly key: string;
  readonly models?: readonly string[];
  /** What an answer says; a string is its text. */
  readonly reply?: string | ScriptedReply | ((body: JsonObject) => string | ScriptedReply);
  /** What it costs; `omitted` leaves it out wherever it would stand. */
  readonly usage?: UsageOption;
}

export const openAnthropicDouble = async ({
  key,
  models = ["claude-x"],
  reply = defaultReply,
  usage: option,
}: AnthropicOptions): Promise<ModelDouble> => {
  const book = createModelBook();
  const asked: Asked[] = [];
  const nextRequestId = createIds("req_");
  const nextMessageId = createIds("msg_");

  /** What was said so far, by the id of the newest answer, where its thread is kept. */
  const threads = new Map<string, readonly unknown[]>();

  type Refused = (status: number, message: string, code?: string) => Answer;

  const admitted =
    (work: (request: RecordedRequest, requestId: string, refused: Refused) => Answer): Handler =>
    (request) => {
      const requestId = nextRequestId();
      const refused: Refused = (status, message, code) => refuse(status, { message, requestId, code });
      if (!hasHeader(request, { name: "x-api-key", value: key })) {
        const given = headerValues(request.headers, "x-api-key").length;
        return refused(401, given === 0 ? "x-api-key header is required" : "invalid x-api-key");
      }
      const versions = headerValues(request.headers, "anthropic-version");
      if (versions.length === 0) return refused(400, "anthropic-version: header is required");
      if (versions.length > 1 || !versionPattern.test(versions[0] ?? "")) {
        return refused(400, `anthropic-version: "${versions.join(", ")}" is not a valid version`);
      }
      return work(request, requestId, refused);
    };

  const accepted = (
    { counting }: { readonly counting: boolean },
    work: (body: JsonObject, request: RecordedRequest, requestId: string) => Answer,
  ): Handler =>
    admitted((request, requestId, refused) => {
      const body = readJsonObject(request);
      if (typeof body === "string") return refused(400, `The request body is not valid JSON: ${body}`);
      const problem = checkMessages(body, { counting });
      if (problem !== undefined) return refused(400, problem);
      const model = String(body["model"]);
      if (!models.includes(model)) return refused(404, `model: ${model}`);
      const whole = goneOnWith(body, threads);
      if (whole === undefined) return refused(404, threadNotFound, "thread_not_found");
      return withHeader(work(whole, request, requestId), ["request-id", requestId]);
    });

  /** A page of at most `limit`, 20 when not asked for more. */
  const list = admitted((request) => {
    const shown = models.slice(0, Number(queryOf(request).get("limit") ?? 20));
    return jsonAnswer(200, {
      data: shown.map((id) => ({ type: "model", id, display_name: id, created_at: "2026-01-01T00:00:00Z" })),
      first_id: shown[0] ?? null,
      last_id: shown.at(-1) ?? null,
      has_more: shown.length < models.length,
    });
  });

  const planned = (body: JsonObject) => {
    const said = planReply(typeof reply === "function" ? reply(body) : reply, readMessages(body));
    const prompt = JSON.stringify([body["system"], body["messages"], body["tools"]]);
    const counted = countedOf(countTokens(prompt), said);
    return { said, usage: planUsage({ option, body, counted, dialect: messagesUsage }) };
  };

  const messages = accepted({ counting: false }, (body, request, requestId) => {
    const wanted = readMessages(body);
    asked.push(wanted);
    const { said, usage } = planned(body);
    const { model } = wanted;
    const report = book.charge({ request, requestId, model, usage, say: messagesUsage.say });
    const id = nextMessageId();
    if (isObject(body["thread"])) {
      const answer = { role: "assistant", content: said.text };
      threads.set(id, [...listOf(body["messages"]), answer]);
    }
    const parts = {
      id,
      model,
      reply: said,
      showsThinking: showsThinking(body),
      omitsThought: omitsThought(body),
      usage: usage.stated(usage.tokens),
    };
    return wanted.stream ? streamedMessage({ ...parts, report }) : wholeMessage(parts);
  });

  const double = await openVendorDouble({
    basePath: "/v1",
    handlers: {
      "POST /v1/messages": messages,
      "GET /v1/models": list,
      "POST /v1/messages/count_tokens": accepted({ counting: true }, (body) =>
        jsonAnswer(200, { input_tokens: promptOf(planned(body).usage.tokens) }),
      ),
      "*": () => refuse(404, { message: "Not found", requestId: nextRequestId() }),
    },
  });
  return { ...double, book: book.entries, asked };
};

/** A version is a date. Which ones exist is the vendor's to say; its own client sends newer ones over time. */
const versionPattern = /^20\d\d-\d\d-\d\d$/;

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  404: "not_found_error",
};

const threadNotFound = "No usable thread state was found for `previous_message_id`.";

/** The request with all that its thread has; undefined where there is no such thread. */
function goneOnWith(
  body: JsonObject,
  threads: ReadonlyMap<string, readonly unknown[]>,
): JsonObject | undefined {
  const { type, previous_message_id: previous } = objectOf(body["thread"]);
  if (type !== "continue") return body;
  const kept = threads.get(stringOf(previous));
  return kept && { ...body, messages: [...kept, ...listOf(body["messages"])] };
}

interface Refusal {
  readonly message: string;
  readonly requestId: string;
  readonly code?: string | undefined;
}

function refuse(status: number, { message, requestId, code }: Refusal): Answer {
  const details = code === undefined ? {} : { details: { error_code: code } };
  const error = { type: errorTypes[status], message, ...details };
  return jsonAnswer(status, { type: "error", error, request_id: requestId }, [["request-id", requestId]]);
}
