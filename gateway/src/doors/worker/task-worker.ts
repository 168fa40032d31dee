// Time as a door: what nobody asks about still has to end.

import type { StoreNews } from "../../store/store-news.ts";
import type { TaskDesk, TaskUpstream } from "../../tasks/task-desk.ts";

interface Parts {
  readonly desk: TaskDesk;
  /** The upstreams that have tasks at this moment. */
  readonly upstreams: () => readonly TaskUpstream[];
  readonly storeNews: StoreNews;
}

export interface TaskWorker {
  /** Claims nothing more, and waits for the questions that are under way. */
  readonly stop: () => Promise<void>;
}

/** Short against the pause between two questions about one task, long against the look at an empty table. */
const lookAgainMs = 100;
/** While there is something to ask, quotas are used up as they come free. */
const lookAgainSoonMs = 20;
/** Deadlines lie a day away, so nobody notices when one is ended seconds late. */
const expireEveryMs = 1_000;
/** Questions under way at one upstream. A vendor that answers slowly gets no more; its tasks wait in the table. */
const asksAtOnceMax = 64;

/** Asks about tasks that are due, the longest waiting first, and ends those whose time is over. */
export function startTaskWorker({ desk, upstreams, storeNews }: Parts): TaskWorker {
  const asking = new Map<string, Set<Promise<void>>>();
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const askDue = async (at: TaskUpstream): Promise<boolean> => {
    const { name } = at.upstream;
    let under = asking.get(name);
    if (!under) asking.set(name, (under = new Set<Promise<void>>()));
    const mine = under;
    // Only as many are claimed as there are places: a claim that waits for a place is a claim that runs out.
    const questions = await desk.askDue(at, asksAtOnceMax - mine.size);
    for (const question of questions) {
      mine.add(question);
      question.finally(() => mine.delete(question)).catch(() => {});
    }
    return questions.length > 0 || mine.size > 0;
  };

  let sinceExpiredMs = expireEveryMs;
  /** True when there was something to ask. */
  const turn = async (afterMs: number): Promise<boolean> => {
    let busy = false;
    sinceExpiredMs += afterMs;
    try {
      for (const at of upstreams()) if (!stopped && (await askDue(at))) busy = true;
      if (stopped || sinceExpiredMs < expireEveryMs) return busy;
      sinceExpiredMs = 0;
      await desk.expire();
    } catch (error) {
      storeNews.failed("the tasks could not be looked at", error);
    }
    return busy;
  };

  let turning: Promise<boolean> = Promise.resolve(false);
  const again = (afterMs: number): void => {
    timer = setTimeout(() => {
      turning = turn(afterMs);
      turning
        .then((busy) => (stopped ? undefined : again(busy ? lookAgainSoonMs : lookAgainMs)))
        .catch(() => {});
    }, afterMs);
    timer.unref();
  };
  again(lookAgainMs);

  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await turning;
      await Promise.all([...asking.values()].flatMap((questions) => [...questions]));
    },
  };
}
