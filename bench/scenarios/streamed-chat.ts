import type { Scenario } from "../rig/scenario.ts";
import { chat } from "./chat.ts";

const events = 100;

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

const usage = { prompt_tokens: 112, completion_tokens: events - 3, total_tokens: 109 + events };

/** The same conversation, streamed as a hundred events; nginx sends them in as few pieces as they fit. */
export const streamedChat: Scenario = {
  request: {
    ...chat.request,
    body: JSON.stringify({
      ...(JSON.parse(chat.request.body ?? "{}") as object),
      stream: true,
      stream_options: { include_usage: true },
    }),
  },
  answer: {
    contentType: "text/event-stream",
    body: [
      chunk({ role: "assistant", content: "" }, null),
      ...Array.from({ length: events - 4 }, () => chunk({ content: " word" }, null)),
      chunk({}, "stop"),
      { ...head, choices: [], usage },
    ]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .concat("data: [DONE]\n\n")
      .join(""),
  },
};
