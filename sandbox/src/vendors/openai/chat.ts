// Chat completions: any model name is served, in one piece or in chunks, with true usage figures.

import type { PromptCache } from "../../model/prompt-cache.ts";
import { promptOf } from "../../model/prompt.ts";
import { replyTo, type Reply } from "../../model/reply.ts";
import { fingerprint } from "../../seeded.ts";
import type { JsonObject, VendorAnswer, VendorCall, VendorStream } from "../../vendor.ts";
import { calledOf, chunksOf } from "./chat-chunks.ts";
import { readChatRequest } from "./chat-request.ts";
import { checkModel, error, failure } from "./errors.ts";
import { logprobsOf } from "./logprobs.ts";
import { createMeter, nothingYet } from "./meter.ts";

export function completeChat(call: VendorCall, promptCache: PromptCache): VendorAnswer | VendorStream {
  const request = readChatRequest(call.body);
  if ("refused" in request) return error(400, request.refused);
  const { conversation, n, stream, includeUsage, topLogprobs } = request;
  const { model } = conversation;
  const missing = checkModel(model);
  if (missing !== undefined) return missing;

  const prompt = promptOf(conversation);
  const cachedTokens = promptCache.recall({ model, text: prompt.text });
  const replies = Array.from({ length: n }, (_, index) => replyTo(conversation, index));
  const meter = createMeter(prompt.tokens, cachedTokens);
  const head = {
    id: `chatcmpl-${fingerprint(`${call.nowMs} ${call.body}`)}`,
    created: Math.floor(call.nowMs / 1000),
    model,
    service_tier: "default",
    system_fingerprint: "fp_sandbox",
  };
  if (stream) {
    return {
      status: 200,
      framing: "sse",
      billed: meter.billed(nothingYet),
      events: chunksOf({ head, replies, meter, includeUsage, topLogprobs }),
      fail: failure,
    };
  }

  const generated = {
    output: replies.reduce((sum, { tokens }) => sum + tokens, 0),
    reasoning: replies.reduce((sum, { thoughtTokens }) => sum + thoughtTokens, 0),
  };
  const body = {
    ...head,
    object: "chat.completion",
    choices: replies.map((reply, index) => ({
      index,
      message: messageOf(reply),
      logprobs: logprobsOf(reply.text, topLogprobs),
      finish_reason: reply.finish,
    })),
    usage: meter.usage(generated),
  };
  return { status: 200, body, billed: meter.billed(generated) };
}

function messageOf({ text, calls }: Reply): JsonObject {
  const message = { role: "assistant", refusal: null, annotations: [] };
  if (calls.length === 0) return { ...message, content: text };
  return { ...message, content: null, tool_calls: calls.map((call) => calledOf(call, call.argumentsText)) };
}
