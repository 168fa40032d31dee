import type { CallToolResult, InputRequiredResult } from "@modelcontextprotocol/server";

type Answered = CallToolResult | InputRequiredResult;

/** A client library repeats a request within seconds, if at all; an id of a session is never used for another one. */
const rememberedMs = 10 * 60_000;
const rememberedMax = 100;

/**
 * The answers of one session by request. A transport that repeats a request gets the first one's answer, also while
 * that is still running, instead of paying again. There is nothing like it without a session: there, ids repeat.
 */
export interface AnswerMemory {
  readonly once: (request: string, answer: () => Promise<Answered>) => Promise<Answered>;
}

export function createAnswerMemory(monotonicMs: () => number): AnswerMemory {
  const remembered = new Map<string, { readonly answer: Promise<Answered>; readonly atMs: number }>();
  const forget = (nowMs: number): void => {
    for (const [request, { atMs }] of remembered) {
      if (remembered.size <= rememberedMax && nowMs - atMs < rememberedMs) return;
      remembered.delete(request);
    }
  };
  return {
    once: async (request, answer) => {
      forget(monotonicMs());
      const earlier = remembered.get(request);
      if (earlier) return earlier.answer;
      const running = answer();
      remembered.set(request, { answer: running, atMs: monotonicMs() });
      const answered = await running;
      // A question is not an answer: the next round of the same request brings what was asked for.
      if ("inputRequests" in answered) remembered.delete(request);
      return answered;
    },
  };
}
