import type { Scenario } from "../rig/scenario.ts";
import { chat } from "./chat.ts";

/** With the one that ends the stream. */
const eventCount = 100;

const head = {
  id: "chatcmpl-bench",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "bench-model",
};

const chunk = (delta: object, finish_reason: string | null): object => ({
  ...head,
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});

const usage = { prompt_tokens: 112, completion_tokens: eventCount - 3, total_tokens: 109 + eventCount };

const chunks = [
  chunk({ role: "assistant", content: "" }, null),
  ...Array.from({ length: eventCount - 4 }, () => chunk({ content: " word" }, null)),
  chunk({}, "stop"),
  { ...head, choices: [], usage },
];

/** The same conversation, streamed as a hundred events; `rig/sse-upstream.ts` sends them one at a time. */
export const streamedChat: Scenario = {
  request: {
    ...chat.request,
    eventsMin: eventCount,
    body: JSON.stringify({
      ...(JSON.parse(chat.request.body ?? "{}") as object),
      stream: true,
      stream_options: { include_usage: true },
    }),
  },
  answer: {
    contentType: "text/event-stream",
    body: chunks
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .concat("data: [DONE]\n\n")
      .join(""),
  },
  told: chunks,
};
