import { leftNothing, type ToolAnswer } from "../tools/tool-answer.ts";

/**
 * A client library repeats a request within seconds, if at all. Within a session's life an id means one request, except to
 * clients that resume it and count from the start: what they buy again word for word in this time, they get as it was.
 */
export const rememberedMs = 10 * 60_000;
/** All sessions together; the oldest answers go first. */
const charactersMax = 32 * 1024 * 1024;

/**
 * The answers of sessions by request. A transport that repeats a request gets the first one's answer, also while that
 * is still running or its person is being asked, instead of paying again; at another process the books refuse it. A refusal
 * is only shared while it runs. There is nothing like it without a session: there, ids repeat.
 */
export interface AnswerMemory {
  readonly once: (request: string, answer: () => Promise<ToolAnswer>) => Promise<ToolAnswer>;
}

interface Remembered {
  readonly answer: Promise<ToolAnswer>;
  /** When it was answered, or began if it still runs: a person may take longer to decide than answers are remembered. */
  readonly atMs: number;
  /** Nothing while it runs. */
  readonly characters: number;
}

export function createAnswerMemory(monotonicMs: () => number): AnswerMemory {
  // In the order of these times.
  const remembered = new Map<string, Remembered>();
  let characters = 0;

  const forget = (request: string): void => {
    characters -= remembered.get(request)?.characters ?? 0;
    remembered.delete(request);
  };
  const makeRoom = (): void => {
    const nowMs = monotonicMs();
    for (const [request, { atMs, characters: own }] of remembered) {
      if (characters <= charactersMax && nowMs - atMs < rememberedMs) return;
      // What still runs must be found again by its repetition, however much there is.
      if (own > 0) forget(request);
    }
  };

  return {
    once: async (request, answer) => {
      makeRoom();
      const earlier = remembered.get(request);
      if (earlier) return earlier.answer;
      const entry: Remembered = { answer: answer(), atMs: monotonicMs(), characters: 0 };
      remembered.set(request, entry);
      try {
        const answered = await entry.answer;
        // Whatever spoke against it may be gone when it is asked for again.
        if (leftNothing(answered)) {
          forget(request);
          return answered;
        }
        const { length } = JSON.stringify(answered);
        remembered.delete(request);
        remembered.set(request, { answer: entry.answer, atMs: monotonicMs(), characters: length });
        characters += length;
        return answered;
      } catch (error) {
        // It runs no more; what it may have bought is not bought again, for the books know the request too.
        forget(request);
        throw error;
      }
    },
  };
}
