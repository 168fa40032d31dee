// Gemini: content in one piece, as events or as a growing list; a free count of tokens; the list of models.

import { createPromptCache } from "../../model/prompt-cache.ts";
import { promptOf } from "../../model/prompt.ts";
import { replyTo } from "../../model/reply.ts";
import { fingerprint } from "../../seeded.ts";
import {
  isObject,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
  type VendorStream,
} from "../../vendor.ts";
import { answerChunks, createMeter, modalities, wholeAnswer, type Answer } from "./answer.ts";
import { checkKey, error, type Refused } from "./errors.ts";
import { parseBody, readGenerateRequest } from "./request.ts";

export function createGemini({ key }: { key: string }): Vendor {
  const promptCache = createPromptCache();

  const answer: Vendor["answer"] = (call) => checkKey(call, key) ?? route(call);

  const route = (call: VendorCall): VendorAnswer | VendorStream => {
    const [, model = "", verb = ""] = /^\/models\/([^/:]+)(?::(\w+))?$/.exec(call.path) ?? [];
    if (call.method === "GET" && call.path === "/models") return modelList;
    if (call.method === "GET" && model !== "" && verb === "")
      return known(model, "get") ?? { status: 200, body: modelOf(model), billed: null };
    if (call.method !== "POST") return error(404, "Not found.");

    switch (verb) {
      case "generateContent":
        return known(model, verb) ?? generate(call, model);
      case "streamGenerateContent":
        return known(model, verb) ?? streamGenerate(call, model);
      case "countTokens":
        return known(model, verb) ?? countTokensOf(call, model);
      default:
        return error(404, "Not found.");
    }
  };

  const generate = (call: VendorCall, model: string): VendorAnswer => {
    const generated = readAnswer(call, model);
    return "refused" in generated
      ? error(400, generated.refused)
      : { status: 200, ...wholeAnswer(generated) };
  };

  const streamGenerate = (call: VendorCall, model: string): VendorAnswer | VendorStream => {
    const generated = readAnswer(call, model);
    if ("refused" in generated) return error(400, generated.refused);
    return {
      status: 200,
      framing: call.query.get("alt") === "sse" ? "sse" : "json_list",
      billed: generated.meter.billed({ candidates: 0, thoughts: 0 }),
      events: answerChunks(generated),
      fail: (message) => ({ data: error(503, message).body }),
    };
  };

  const readAnswer = ({ body, nowMs }: VendorCall, model: string): Answer | Refused => {
    const request = readGenerateRequest(parseBody(body), model);
    if ("refused" in request) return request;
    const { conversation, candidates, includeThoughts } = request;
    const prompt = promptOf(conversation);
    const cached = promptCache.recall({ model, text: prompt.text });
    return {
      tail: { modelVersion: model, responseId: fingerprint(`${nowMs} ${model} ${body}`).slice(0, 22) },
      replies: Array.from({ length: candidates }, (_, index) => replyTo(conversation, index)),
      meter: createMeter({ prompt: prompt.tokens, images: prompt.imageTokens, cached }),
      includeThoughts,
    };
  };

  return { answer, refuse: (status, message) => error(status, message) };
}

function countTokensOf({ body }: VendorCall, model: string): VendorAnswer {
  const parsed = parseBody(body);
  const inner = parsed?.["generateContentRequest"];
  const request = readGenerateRequest(isObject(inner) ? inner : parsed, model);
  if ("refused" in request) return error(400, request.refused);
  const { tokens, imageTokens } = promptOf(request.conversation);
  return {
    status: 200,
    body: { totalTokens: tokens, promptTokensDetails: modalities({ prompt: tokens, images: imageTokens }) },
    billed: null,
  };
}

/** Every model exists, except those that say they do not. */
const known = (model: string, verb: string): VendorAnswer | undefined =>
  model.startsWith("missing-")
    ? error(404, `models/${model} is not found for API version v1beta, or is not supported for ${verb}.`)
    : undefined;

const modelOf = (id: string) => ({
  name: `models/${id}`,
  version: "001",
  displayName: id,
  inputTokenLimit: 1_048_576,
  outputTokenLimit: 4096,
  supportedGenerationMethods: ["generateContent", "countTokens"],
});

const modelList: VendorAnswer = {
  status: 200,
  body: { models: ["sandbox-large", "sandbox-small"].map(modelOf) },
  billed: null,
};
