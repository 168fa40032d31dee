import type { Scenario } from "../rig/scenario.ts";

const choices = [
  {
    index: 0,
    message: { role: "assistant", content: "The gate counts what passes. ".repeat(16), refusal: null },
    logprobs: null,
    finish_reason: "stop",
  },
];
const used = { prompt_tokens: 112, completion_tokens: 97, total_tokens: 209 };

/** A question and an answer of ordinary size, in the OpenAI dialect. */
export const chat: Scenario = {
  request: {
    method: "POST",
    path: "/v1/chat/completions",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "bench-model",
      max_tokens: 256,
      temperature: 0.2,
      messages: [
        { role: "system", content: "You are a helpful assistant. Answer briefly and in plain words." },
        { role: "user", content: `Summarise this for me: ${"the gate counts what passes. ".repeat(12)}` },
      ],
    }),
  },
  answer: {
    contentType: "application/json",
    body: JSON.stringify({
      id: "chatcmpl-bench",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "bench-model",
      choices,
      usage: {
        ...used,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    }),
  },
  told: { choices, usage: used },
};
