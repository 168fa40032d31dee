// The tasks the vendor remembers: for a day, and never more than it has room for.
import type { Task } from "./task.ts";

export interface TaskShelf {
  /** A task put again keeps its place. */
  put(task: Task, nowMs: number): void;
  /** Undefined when there never was one, or none any more. */
  find(id: string, nowMs: number): Task | undefined;
}

// Prompts are cut, so this is at most some 400 MB, and 40 MB with prompts of the usual length.
const tasksMaxDefault = 100_000;

export const createTaskShelf = ({ tasksMax = tasksMaxDefault }: { tasksMax?: number } = {}): TaskShelf => {
  // In order of creation, so that the first is always the next to be forgotten.
  const tasks = new Map<string, Task>();

  return {
    put(task, nowMs) {
      tasks.set(task.id, task);
      for (const [id, oldest] of tasks) {
        if (tasks.size <= tasksMax && !isForgotten(oldest, nowMs)) return;
        tasks.delete(id);
      }
    },

    find(id, nowMs) {
      const task = tasks.get(id);
      return task === undefined || isForgotten(task, nowMs) ? undefined : task;
    },
  };
};

const isForgotten = ({ submittedAtMs, direction }: Task, nowMs: number): boolean =>
  nowMs - submittedAtMs >= direction.keptMs;
