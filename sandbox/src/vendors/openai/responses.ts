// The responses API: the same model as chat, its answer as a list of items.

import type { PromptCache } from "../../model/prompt-cache.ts";
import { promptOf } from "../../model/prompt.ts";
import { replyTo, type Reply } from "../../model/reply.ts";
import { fingerprint } from "../../seeded.ts";
import type { JsonObject, VendorAnswer, VendorCall, VendorStream } from "../../vendor.ts";
import { checkModel, error } from "./errors.ts";
import type { KeptResponses } from "./kept-responses.ts";
import { billedOf, nothingYet, type Generated } from "./meter.ts";
import { responseEvents } from "./responses-events.ts";
import { itemsOf } from "./responses-items.ts";
import { readResponsesRequest } from "./responses-request.ts";

interface Memory {
  readonly promptCache: PromptCache;
  readonly kept: KeptResponses;
}

export function respondTo(call: VendorCall, { promptCache, kept }: Memory): VendorAnswer | VendorStream {
  const request = readResponsesRequest(call.body, kept);
  if ("refused" in request) return error(request.status ?? 400, request.refused);
  const { conversation, stream, sent } = request;
  const { model } = conversation;
  const missing = checkModel(model);
  if (missing !== undefined) return missing;

  const prompt = promptOf(conversation);
  const input = { input: prompt.tokens, cached: promptCache.recall({ model, text: prompt.text }) };
  const reply = replyTo(conversation);
  const seed = fingerprint(`${call.nowMs} ${call.body}`);
  const head = headOf({ sent, model, id: `resp_${seed}`, nowMs: call.nowMs });
  const generated = { output: reply.tokens, reasoning: reply.thoughtTokens };
  const { include } = sent;
  const sealed = Array.isArray(include) && include.includes("reasoning.encrypted_content");
  const items = itemsOf(reply, seed, sealed);
  const whole = {
    ...head,
    ...statusOf(reply),
    output: items.map(({ item }) => item),
    usage: usageOf(input, generated),
  };
  if (sent["store"] !== false) {
    const said = [...request.items, ...whole.output];
    kept.keep({ id: head.id, previousId: head.previous_response_id, items: said });
  }
  if (!stream) return { status: 200, body: whole, billed: billedOf(input, generated) };

  const begun = { ...head, status: "in_progress", incomplete_details: null, output: [], usage: null };
  return {
    status: 200,
    framing: "sse",
    billed: billedOf(input, nothingYet),
    events: responseEvents({ begun, whole, items, billed: (soFar) => billedOf(input, soFar) }),
    fail: (message) => ({
      event: "error",
      data: { type: "error", code: "server_error", message, param: null },
    }),
  };
}

const headOf = ({
  sent,
  model,
  id,
  nowMs,
}: {
  sent: JsonObject;
  model: string;
  id: string;
  nowMs: number;
}) => ({
  id,
  object: "response",
  created_at: Math.floor(nowMs / 1000),
  background: false,
  error: null,
  instructions: sent["instructions"] ?? null,
  max_output_tokens: sent["max_output_tokens"] ?? null,
  metadata: sent["metadata"] ?? {},
  model,
  parallel_tool_calls: sent["parallel_tool_calls"] ?? true,
  previous_response_id: sent["previous_response_id"] ?? null,
  reasoning: sent["reasoning"] ?? { effort: null, summary: null },
  service_tier: "default",
  store: sent["store"] ?? true,
  temperature: sent["temperature"] ?? 1,
  text: sent["text"] ?? { format: { type: "text" } },
  tool_choice: sent["tool_choice"] ?? "auto",
  tools: sent["tools"] ?? [],
  top_p: sent["top_p"] ?? 1,
  truncation: sent["truncation"] ?? "disabled",
});

const statusOf = ({ finish }: Reply) =>
  finish === "length"
    ? { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    : { status: "completed", incomplete_details: null };

const usageOf = (
  { input, cached }: { input: number; cached: number },
  { output, reasoning }: Generated,
): JsonObject => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
});
