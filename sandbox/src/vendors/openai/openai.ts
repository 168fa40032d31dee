// OpenAI: chat completions, responses, embeddings, images and the list of models.

import { createPromptCache } from "../../model/prompt-cache.ts";
import { fingerprint } from "../../seeded.ts";
import type { Vendor, VendorAnswer, VendorCall, VendorStream } from "../../vendor.ts";
import { completeChat } from "./chat.ts";
import { embed } from "./embeddings.ts";
import { checkKey, error } from "./errors.ts";
import { generateImages } from "./images.ts";
import { createKeptResponses } from "./kept-responses.ts";
import { respondTo } from "./responses.ts";

export function createOpenAi({ key }: { key: string }): Vendor {
  const promptCache = createPromptCache();
  const kept = createKeptResponses();

  const answer: Vendor["answer"] = (call) => {
    const reply = checkKey(call, key) ?? route(call);
    return {
      ...reply,
      headers: { "x-request-id": `req_${fingerprint(`${call.nowMs} ${call.path} ${call.body}`)}` },
    };
  };

  const route = (call: VendorCall): VendorAnswer | VendorStream => {
    switch (`${call.method} ${call.path}`) {
      case "POST /chat/completions":
        return completeChat(call, promptCache);
      case "POST /responses":
        return respondTo(call, { promptCache, kept });
      case "POST /embeddings":
        return embed(call);
      case "POST /images/generations":
        return generateImages(call);
      case "GET /models":
        return { status: 200, body: modelList, billed: null };
      default:
        return error(404, { message: `Invalid URL (${call.method} ${call.path})` });
    }
  };

  return { answer, refuse: (status, message) => error(status, { message }) };
}

const modelList = {
  object: "list",
  data: ["sandbox-large", "sandbox-small"].map((id) => ({
    id,
    object: "model",
    created: Date.UTC(2026, 0, 1) / 1000,
    owned_by: "sandbox",
  })),
};
