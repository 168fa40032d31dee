// An answer of the vendor: the content blocks, why it stopped, and usage. Input excludes what was cached.

import type { CacheUse } from "../../model/marked-cache.ts";
import type { Call, Reply } from "../../model/reply.ts";
import { parseObject, type Billed, type JsonObject } from "../../vendor.ts";
import { signatureOf } from "./signature.ts";

export interface Meter {
  readonly usage: (outputTokens: number) => JsonObject;
  readonly billed: (generated: { output: number; thinking: number }) => Billed;
}

export function createMeter(promptTokens: number, { read, written5m, written1h }: CacheUse): Meter {
  const input = promptTokens - read - written5m - written1h;
  return {
    usage: (outputTokens) => ({
      input_tokens: input,
      cache_creation_input_tokens: written5m + written1h,
      cache_read_input_tokens: read,
      cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
      output_tokens: outputTokens,
      service_tier: "standard",
    }),
    billed: ({ output, thinking }) => ({
      input_tokens: input,
      cached_tokens: read,
      cache_write_tokens: written5m,
      cache_write_1h_tokens: written1h,
      output_tokens: output,
      ...(thinking > 0 ? { reasoning_tokens: thinking } : {}),
    }),
  };
}

export const contentOf = ({ thoughts, text, calls }: Reply): JsonObject[] => [
  ...(thoughts === "" ? [] : [{ type: "thinking", thinking: thoughts, signature: signatureOf(thoughts) }]),
  ...(text === "" ? [] : [{ type: "text", text }]),
  // Arguments that were cut are no JSON, and the vendor has an object to fill.
  ...calls.map((call) => ({ ...toolUseOf(call), input: parseObject(call.argumentsText) ?? {} })),
];

export const toolUseOf = ({ id, name }: Call) => ({ type: "tool_use", id: `toolu_${id}`, name, input: {} });

export const stopOf = ({ finish, stopSequence }: Reply) => ({
  stop_reason: stopSequence === null ? stopReasons[finish] : "stop_sequence",
  stop_sequence: stopSequence,
});

const stopReasons = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use" } as const;
