import { isSaid } from "../added-instructions.ts";
import type { AddedInstructions, ChatMessage, ChatRequest } from "../chat.ts";

/** `field` is where it begins, for whoever has to name it. */
type Turn = (ChatMessage | AddedInstructions) & { readonly field: string };

/**
 * OpenAI lets nothing stand between calls and their results. Where a tool is in one of them, neighbours with one role are
 * therefore one turn; elsewhere each stays the message that the caller wrote.
 */
export function turnsOf(messages: ChatRequest["messages"]): readonly Turn[] {
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
  if (first === undefined || !isSaid(first) || !run.some(hasTool)) return run;
  return [{ ...first, parts: run.flatMap(({ parts }) => parts) }];
}

const hasTool = ({ parts }: Turn): boolean =>
  parts.some(({ kind }) => kind === "tool_call" || kind === "tool_result");
