import type { ChatMessage } from "../chat.ts";

interface Turn extends ChatMessage {
  /** Where it begins, for whoever has to name it. */
  readonly field: string;
}

/**
 * OpenAI lets nothing stand between calls and their results. Where a tool is in one of them, neighbours with one role are
 * therefore one turn; elsewhere each stays the message that the caller wrote.
 */
export function turnsOf(messages: readonly ChatMessage[]): readonly Turn[] {
  const runs: Turn[][] = [];
  for (const [at, message] of messages.entries()) {
    const turn = { ...message, field: `messages[${at}]` };
    const run = runs.at(-1);
    if (run?.[0]?.role === message.role) run.push(turn);
    else runs.push([turn]);
  }
  return runs.flatMap(joined);
}

function joined(run: readonly Turn[]): readonly Turn[] {
  const [first] = run;
  if (first === undefined || !run.some(hasTool)) return run;
  return [{ ...first, parts: run.flatMap(({ parts }) => parts) }];
}

const hasTool = ({ parts }: ChatMessage): boolean =>
  parts.some(({ kind }) => kind === "tool_call" || kind === "tool_result");
