// OpenAI chat completions and the list of models: any model name is served, with true usage figures.
import { fingerprint } from "../seeded.ts";
import { bearerOf } from "../vendor.ts";
import { createPromptCache } from "./openai-prompt-cache.ts";
import { promptOf } from "./openai-prompt.ts";
import { replyTo } from "./openai-reply.ts";
import { readChatRequest } from "./openai-request.ts";
import type { Vendor, VendorAnswer, VendorCall } from "../vendor.ts";

export const createOpenAi = ({ key }: { key: string }): Vendor => {
  const promptCache = createPromptCache();

  const answer: Vendor["answer"] = (call) => {
    const reply = checkKey(call, key) ?? route(call);
    return {
      ...reply,
      headers: { "x-request-id": `req_${fingerprint(`${call.nowMs} ${call.path} ${call.body}`)}` },
    };
  };

  const route = (call: VendorCall): VendorAnswer => {
    switch (`${call.method} ${call.path}`) {
      case "POST /chat/completions":
        return complete(call);
      case "GET /models":
        return { status: 200, body: modelList, billed: null };
      default:
        return error(404, { message: `Invalid URL (${call.method} ${call.path})` });
    }
  };

  const complete = (call: VendorCall): VendorAnswer => {
    const request = readChatRequest(call.body);
    if ("refused" in request) return error(400, request.refused);
    if (request.model.startsWith("missing-")) return modelNotFound(request.model);

    const prompt = promptOf(request);
    const choices = Array.from({ length: request.n }, (_, index) => replyTo(request, index));
    const completionTokens = choices.reduce((sum, { tokens }) => sum + tokens, 0);
    const cachedTokens = promptCache.recall(`${request.model}\n${prompt.text}`);

    const body = {
      id: `chatcmpl-${fingerprint(`${call.nowMs} ${call.body}`)}`,
      object: "chat.completion",
      created: Math.floor(call.nowMs / 1000),
      model: request.model,
      choices: choices.map(({ message, finishReason }, index) => ({
        index,
        message,
        logprobs: null,
        finish_reason: finishReason,
      })),
      usage: {
        prompt_tokens: prompt.tokens,
        completion_tokens: completionTokens,
        total_tokens: prompt.tokens + completionTokens,
        prompt_tokens_details: { cached_tokens: cachedTokens, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 0,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
      service_tier: "default",
      system_fingerprint: "fp_sandbox",
    };
    const billed = {
      input_tokens: prompt.tokens,
      cached_tokens: cachedTokens,
      output_tokens: completionTokens,
    };
    return { status: 200, body, billed };
  };

  return { answer, refuse: (status, message) => error(status, { message }) };
};

const checkKey = ({ headers }: VendorCall, key: string): VendorAnswer | undefined => {
  const bearer = bearerOf(headers);
  if (bearer === key) return undefined;
  if (bearer !== undefined)
    return error(401, { message: "Incorrect API key provided.", code: "invalid_api_key" });
  return error(401, {
    message: "You didn't provide an API key. Send it in an Authorization header: Bearer YOUR_KEY.",
  });
};

const modelNotFound = (model: string): VendorAnswer =>
  error(404, {
    message: `The model \`${model}\` does not exist or you do not have access to it.`,
    code: "model_not_found",
  });

const error = (status: number, { message, param = null, code = null }: ErrorWords): VendorAnswer => ({
  status,
  body: { error: { message, type: typeOf(status), param, code } },
  billed: null,
});

interface ErrorWords {
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

const typeOf = (status: number): string => {
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
};

const modelList = {
  object: "list",
  data: ["sandbox-large", "sandbox-small"].map((id) => ({
    id,
    object: "model",
    created: Date.UTC(2026, 0, 1) / 1000,
    owned_by: "sandbox",
  })),
};
