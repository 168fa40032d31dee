// Time as a door: what nobody asks about still has to end.

import { describeError, type Log } from "../../platform/log.ts";
import type { TaskDesk, TaskUpstream } from "../../tasks/task-desk.ts";

interface Parts {
  readonly desk: TaskDesk;
  /** The upstreams that have tasks at this moment. */
  readonly upstreams: () => readonly TaskUpstream[];
  readonly log: Log;
  readonly lookEveryMs?: number;
}

export interface TaskWorker {
  /** Claims nothing more, and waits for the questions that are under way. */
  readonly stop: () => Promise<void>;
}

/** Short against the pause between two questions about one task, long against the look at an empty table. */
const lookEveryUsualMs = 100;
/** Questions under way at one upstream. A vendor that answers slowly gets no more; its tasks wait in the table. */
const asksAtOnceMax = 64;

/** Asks about tasks that are due, the longest waiting first, and ends those whose time is over. */
export function startTaskWorker({ desk, upstreams, log, lookEveryMs = lookEveryUsualMs }: Parts): TaskWorker {
  const asking = new Map<string, Set<Promise<void>>>();
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const askDue = async (at: TaskUpstream): Promise<void> => {
    const { name } = at.upstream;
    let under = asking.get(name);
    if (!under) asking.set(name, (under = new Set<Promise<void>>()));
    const mine = under;
    // Only as many are claimed as there are places: a claim that waits for a place is a claim that runs out.
    for (const question of await desk.askDue(at, asksAtOnceMax - mine.size)) {
      mine.add(question);
      question.finally(() => mine.delete(question)).catch(() => {});
    }
  };

  const turn = async (): Promise<void> => {
    try {
      for (const at of upstreams()) if (!stopped) await askDue(at);
      if (!stopped) await desk.expire();
    } catch (error) {
      log.error("the tasks could not be looked at", describeError(error));
    }
  };

  let turning: Promise<void> = Promise.resolve();
  const again = (): void => {
    timer = setTimeout(() => {
      turning = turn();
      turning.then(() => (stopped ? undefined : again())).catch(() => {});
    }, lookEveryMs);
    timer.unref();
  };
  again();

  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await turning;
      await Promise.all([...asking.values()].flatMap((questions) => [...questions]));
    },
  };
}
