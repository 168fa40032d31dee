// Anthropic: messages in one piece or in events, a free count of tokens, and the list of models.

import { createMarkedCache } from "../../model/marked-cache.ts";
import { promptOf } from "../../model/prompt.ts";
import { replyTo } from "../../model/reply.ts";
import { fingerprint } from "../../seeded.ts";
import {
  bearerOf,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
  type VendorStream,
} from "../../vendor.ts";
import { contentOf, createMeter, stopOf } from "./answer.ts";
import { error } from "./errors.ts";
import { messageEvents } from "./events.ts";
import { readMessageRequest } from "./request.ts";

export function createAnthropic({ key }: { key: string }): Vendor {
  const cache = createMarkedCache();

  const answer: Vendor["answer"] = (call) => {
    const requestId = `req_${fingerprint(`${call.nowMs} ${call.path} ${call.body}`)}`;
    const reply = checkHeaders(call.headers, key) ?? route(call);
    const headers = { "request-id": requestId };
    if ("events" in reply || reply.status < 400) return { ...reply, headers };
    return { ...reply, headers, body: { ...reply.body, request_id: requestId } };
  };

  const route = (call: VendorCall): VendorAnswer | VendorStream => {
    switch (`${call.method} ${call.path}`) {
      case "POST /messages":
        return createMessage(call);
      case "POST /messages/count_tokens":
        return countTokensOf(call);
      case "GET /models":
        return { status: 200, body: modelList, billed: null };
      default:
        return error(404, `${call.method} ${call.path} was not found`);
    }
  };

  const createMessage = ({ body, nowMs }: VendorCall): VendorAnswer | VendorStream => {
    const request = readMessageRequest(body, { limitRequired: true });
    if ("refused" in request) return error(400, request.refused, request.details);
    const { conversation, stream } = request;
    const { model } = conversation;
    if (model.startsWith("missing-")) return error(404, `model: ${model}`);

    const prompt = promptOf(conversation);
    const meter = createMeter(prompt.tokens, cache.use({ model, prompt, nowMs }));
    const reply = replyTo(conversation);
    const generated = { output: reply.tokens, thinking: reply.thoughtTokens };
    const id = `msg_${fingerprint(`${nowMs} ${body}`).slice(0, 24)}`;
    const head = { id, type: "message", role: "assistant", model };
    if (!stream) {
      const message = {
        ...head,
        content: contentOf(reply),
        ...stopOf(reply),
        usage: meter.usage(reply.tokens),
      };
      return { status: 200, body: message, billed: meter.billed(generated) };
    }
    return {
      status: 200,
      framing: "sse",
      billed: meter.billed({ output: 0, thinking: 0 }),
      events: messageEvents({ head, reply, meter }),
      fail: (message) => ({ event: "error", data: error(529, message).body }),
    };
  };

  return { answer, refuse: (status, message) => error(status, message) };
}

function countTokensOf({ body }: VendorCall): VendorAnswer {
  const request = readMessageRequest(body, { limitRequired: false });
  if ("refused" in request) return error(400, request.refused, request.details);
  return { status: 200, body: { input_tokens: promptOf(request.conversation).tokens }, billed: null };
}

function checkHeaders(headers: Headers, key: string): VendorAnswer | undefined {
  const given = headers.get("x-api-key") ?? bearerOf(headers);
  if (given === undefined) return error(401, "x-api-key header is required");
  if (given !== key) return error(401, "invalid x-api-key");
  return headers.has("anthropic-version") ? undefined : error(400, "anthropic-version: header is required");
}

const models = ["sandbox-large", "sandbox-small"];

const modelList = {
  data: models.map((id) => ({
    type: "model",
    id,
    display_name: id,
    created_at: "2026-01-01T00:00:00Z",
  })),
  has_more: false,
  first_id: models[0],
  last_id: models.at(-1),
};
