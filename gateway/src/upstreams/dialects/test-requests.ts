// What the tests of all dialects share: a request with nothing special in it, and which field of one is refused.

import type { ChatRequest } from "./chat.ts";
import { Inexpressible } from "./dialect.ts";

export const bareRequest: ChatRequest = {
  model: "m",
  stream: false,
  system: [],
  messages: [{ role: "user", parts: [{ kind: "text", text: "hello" }] }],
  tools: [],
  toolChoice: undefined,
  parallelToolCalls: undefined,
  outputTokensMax: undefined,
  temperature: undefined,
  topP: undefined,
  topK: undefined,
  stop: [],
  seed: undefined,
  frequencyPenalty: undefined,
  presencePenalty: undefined,
  output: undefined,
  reasoning: undefined,
  endUser: undefined,
};

/** The field that is refused, or undefined when nothing is. */
export function refusedField(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof Inexpressible) return error.field;
    throw error;
  }
}
