// What the stand-in model answers to: what persons, tools and it itself said, without what a program puts in between.

import type { Turn } from "./conversation.ts";

export const heardIn = (turns: readonly Turn[]): readonly Turn[] =>
  turns
    .filter(({ role }) => role !== "system")
    .map((turn) => (turn.role === "user" ? withoutReminders(turn) : turn))
    .filter(({ role, blocks }) => role !== "user" || blocks.length > 0);

/** Claude Code tells the model of its tools in the person's own turn, and after every result. */
const withoutReminders = (turn: Turn): Turn => ({
  ...turn,
  blocks: turn.blocks
    .map((block) => ({ ...block, text: cutReminders(block.text) }))
    .filter(({ text, image }) => text.trim() !== "" || image !== undefined),
});

// By splitting, because a pattern would search the rest of a long text anew for each of many that are never closed.
function cutReminders(text: string): string {
  const [before = "", ...reminders] = text.split("<system-reminder>");
  return (
    before + reminders.map((reminder) => reminder.split("</system-reminder>").slice(1).join("")).join("")
  );
}
