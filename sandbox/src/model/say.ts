// The words of the stand-in model: a sentence or a thought that follows from the conversation alone.

import { createSeeded } from "../seeded.ts";
import type { JsonObject } from "../vendor.ts";
import { textOf, type Turn } from "./conversation.ts";
import { sampleOf } from "./schema-sample.ts";

/** `index` tells the alternatives of one answer apart. */
export function sayTo(turns: readonly Turn[], index: number): string {
  const asked = askedIn(turns);
  const results = resultsIn(turns).map((turn) => excerpt(textOf(turn)));
  if (results.length > 0)
    return `The tool answered: ${results.join("; ")}. That settles your question about ${topicOf(asked)}.`;

  const seeded = createSeeded(`${asked} ${index}`);
  const opening = seeded.pick(["You asked", "Your message says", "I read", "You wrote"]);
  const middle = seeded.pick([
    "The short answer is that it depends on",
    "The first thing to look at is",
    "What matters most here is",
    "A good place to begin is",
  ]);
  const end = seeded.pick([
    "Tell me more and I can be more exact.",
    "Take it in small steps and check each one.",
    "Measure before you change anything.",
    "Write down what you expect, then compare.",
  ]);
  const images = turns.findLast(isUser)?.blocks.filter(({ image }) => image !== undefined).length ?? 0;
  const seen = images === 0 ? "" : ` I looked at ${images === 1 ? "the image" : `the ${images} images`}.`;
  return `${opening}: "${excerpt(asked)}".${seen} ${middle} ${topicOf(asked)}. ${end}`;
}

export function thinkAbout(turns: readonly Turn[]): string {
  const asked = askedIn(turns);
  const seeded = createSeeded(`thinking ${asked}`);
  const first = seeded.pick(["Let me see what is wanted", "First I read the question again", "So"]);
  const doubt = seeded.pick(["I should be careful about", "The crux may be", "I know something about"]);
  return `${first}: ${excerpt(asked)}. ${doubt} ${topicOf(asked)}. I will say that plainly and keep it short.`;
}

export function jsonTo(schema: JsonObject, turns: readonly Turn[]): string {
  const asked = askedIn(turns);
  return JSON.stringify(
    Object.keys(schema).length === 0 ? { answer: excerpt(asked) } : sampleOf(schema, asked),
  );
}

/** The text of the last user message. */
export function askedIn(turns: readonly Turn[]): string {
  const turn = turns.findLast(isUser);
  return turn === undefined ? "" : textOf(turn);
}

/** Results of tools that nobody has answered yet. */
export const resultsIn = (turns: readonly Turn[]): readonly Turn[] =>
  turns.slice(turns.findLastIndex(({ role }) => role !== "tool") + 1);

const isUser = ({ role }: Turn): boolean => role === "user";

export function excerpt(text: string): string {
  const words = text.split(/\s+/).filter((word) => word !== "");
  const short = words.slice(0, 24).join(" ").slice(0, 200);
  return short.length < words.join(" ").length ? `${short} …` : short;
}

/** Its longest word: as good a guess as any, and a stable one. */
export function topicOf(text: string): string {
  const words = text.match(/[\p{L}\p{N}_-]+/gu) ?? [];
  return (
    words.reduce((longest, word) => (word.length > longest.length ? word : longest), "").slice(0, 40) ||
    "the details"
  );
}
