// Gemini: content, plain and streamed, and the count of its tokens.

import type { Asked } from "./asked.ts";
import { chargeable, contentUsage, streamedContent, wholeContent } from "./gemini-content.ts";
import { camelBody, checkContent, checkSignatures, readContent, showsThoughts } from "./gemini-request.ts";
import { headerValues } from "./http-wire.ts";
import { createModelBook } from "./model-book.ts";
import type { ModelDouble } from "./model-book.ts";
import { defaultReply, planReply } from "./model-reply.ts";
import type { Reply, ScriptedReply } from "./model-reply.ts";
import { countTokens } from "./ranking.ts";
import type { Answer } from "./scripted-answer.ts";
import { countedOf, planUsage, promptOf } from "./token-usage.ts";
import type { PlannedUsage, UsageOption } from "./token-usage.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import { createIds, isObject, jsonAnswer, queryOf, readJsonObject } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export interface GeminiOptions {
  readonly key: string;
  readonly models?: readonly string[];
  /** What an answer says; a string is its text. Filtered without text, it is the prompt that was blocked. */
  readonly reply?: string | ScriptedReply | ((body: JsonObject) => string | ScriptedReply);
  /** What it costs; `omitted` leaves it out. */
  readonly usage?: UsageOption;
}

export const openGeminiDouble = async ({
  key,
  models = ["gemini-x"],
  reply = defaultReply,
  usage: option,
}: GeminiOptions): Promise<ModelDouble> => {
  const book = createModelBook();
  const asked: Asked[] = [];
  const nextResponseId = createIds("gemini-");

  const planned = (
    body: JsonObject,
    wanted: Asked,
  ): { readonly said: Reply; readonly usage: PlannedUsage } => {
    const said = planReply(typeof reply === "function" ? reply(body) : reply, wanted);
    const prompt = JSON.stringify([body["systemInstruction"], body["contents"], body["tools"]]);
    const counted = { ...countedOf(countTokens(prompt), said), ...chargeable(said) };
    return { said, usage: planUsage({ option, body, counted, dialect: contentUsage }) };
  };

  const generate = ({ body, model, method, request }: Call): Answer => {
    const stream = method === "streamGenerateContent";
    const wanted = readContent(body, { model, stream });
    asked.push(wanted);
    const { said, usage } = planned(body, wanted);
    const responseId = nextResponseId();
    const report = book.charge({ request, requestId: responseId, model, usage, say: contentUsage.say });
    const parts = { responseId, model, reply: said, showsThoughts: showsThoughts(body), usage };
    return stream
      ? streamedContent({ ...parts, report, sse: queryOf(request).get("alt") === "sse" })
      : wholeContent(parts);
  };

  const count = ({ body, model }: Call): Answer => {
    const { tokens } = planned(body, readContent(body, { model, stream: false })).usage;
    const totalTokens = promptOf(tokens);
    return jsonAnswer(200, {
      totalTokens,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: totalTokens }],
    });
  };

  /** A page of at most `pageSize`, 50 when not asked for more. */
  const list = (request: RecordedRequest): Answer => {
    const problem = checkKey(request, key);
    if (problem) return problem;
    const shown = models.slice(0, Number(queryOf(request).get("pageSize") ?? 50));
    return jsonAnswer(200, {
      models: shown.map((model) => ({ name: `models/${model}`, displayName: model })),
      ...(shown.length < models.length ? { nextPageToken: "next" } : {}),
    });
  };

  const dispatch: Handler = (request) => {
    const [path = ""] = request.target.split("?");
    if (request.method === "GET" && path === "/v1beta/models") return list(request);
    const [, model = "", method = ""] = /^\/v1beta\/models\/([^/:]+):(\w+)$/.exec(path) ?? [];
    if (request.method !== "POST" || !knownMethods.includes(method))
      return refuse(404, { message: "Not Found" });
    const problem = checkKey(request, key);
    if (problem) return problem;
    const sent = readJsonObject(request);
    if (typeof sent === "string") return refuse(400, { message: `Invalid JSON payload received. ${sent}` });
    if (!models.includes(model)) {
      const message = `models/${model} is not found for API version v1beta, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods.`;
      return refuse(404, { message });
    }
    const isCounted = method === "countTokens";
    // A count takes bare contents, or the whole request it is about.
    const wrapped = isCounted
      ? (sent["generateContentRequest"] ?? sent["generate_content_request"])
      : undefined;
    const body = camelBody(isObject(wrapped) ? wrapped : sent);
    const strange = checkContent(body, model) ?? checkSignatures(body, model);
    if (strange !== undefined) return refuse(400, { message: strange });
    return isCounted ? count({ body, model, method, request }) : generate({ body, model, method, request });
  };

  const double = await openVendorDouble({ basePath: "/v1beta", handlers: { "*": dispatch } });
  return { ...double, book: book.entries, asked };
};

interface Call {
  readonly body: JsonObject;
  readonly model: string;
  readonly method: string;
  readonly request: RecordedRequest;
}

const knownMethods = ["generateContent", "streamGenerateContent", "countTokens"];

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
};

const refuse = (
  code: number,
  { message, details }: { readonly message: string; readonly details?: readonly JsonObject[] },
): Answer => jsonAnswer(code, { error: { code, message, status: statuses[code], details } });

function checkKey(request: RecordedRequest, key: string): Answer | undefined {
  // A bearer token is another kind of credential to Google, and a wrong one is not made good by a key.
  if (headerValues(request.headers, "authorization").length > 0) {
    return refuse(401, {
      message:
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
    });
  }
  const keys = [...headerValues(request.headers, "x-goog-api-key"), ...queryOf(request).getAll("key")];
  if (keys.length === 0) {
    return refuse(403, {
      message:
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
    });
  }
  if (keys.length === 1 && keys[0] === key) return undefined;
  const reason = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: "API_KEY_INVALID",
    domain: "googleapis.com",
  };
  return refuse(400, { message: "API key not valid. Please pass a valid API key.", details: [reason] });
}
