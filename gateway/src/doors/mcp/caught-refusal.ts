import { CallRefused } from "../../platform/refusals.ts";

/** What a step refuses with; undefined when it lets pass. */
export async function caughtRefusal(step: () => void | Promise<void>): Promise<CallRefused | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    return asRefusal(error);
  }
}

/** Anything else that was thrown is a bug, and goes on. */
export function asRefusal(error: unknown): CallRefused {
  if (error instanceof CallRefused) return error;
  throw error;
}
