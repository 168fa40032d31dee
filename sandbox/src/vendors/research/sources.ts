// A made-up web: the same pages for the same question, at addresses that can belong to nobody.

import { excerpt, topicOf } from "../../model/say.ts";
import { createSeeded, fingerprint } from "../../seeded.ts";

export interface Source {
  readonly id: string;
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  readonly text: string;
  readonly author: string;
  /** YYYY-MM-DD */
  readonly date: string;
  /** 0..1, best first. */
  readonly score: number;
}

export const findSources = (query: string, count: number): readonly Source[] =>
  Array.from({ length: count }, (_, n) => sourceOf(query, n));

/** Says something about the question, with the sources by their numbers. */
export function answerFrom(query: string, sources: readonly Source[]): string {
  const topic = topicOf(query);
  const cited = sources.map(({ title }, n) => `${title} is among what was found [${n + 1}].`);
  return [
    `You asked: "${excerpt(query)}".`,
    `The sources agree that ${topic} deserves a closer look.`,
    ...cited,
    `Read the first source before you decide anything about ${topic}.`,
  ].join(" ");
}

function sourceOf(query: string, n: number): Source {
  const seeded = createSeeded(`source ${query} ${n}`);
  const topic = topicOf(query);
  const kind = seeded.pick(["A guide to", "Notes on", "The state of", "What we know about", "A study of"]);
  const host = seeded.pick(["library", "almanac", "journal", "gazette", "encyclopedia"]);
  const author = seeded.pick(["R. Field", "M. Stone", "A. Brook", "T. Marsh"]);
  const snippet = `${kind} ${topic}: what ${seeded.integer({ from: 3, to: 90 })} cases show about it.`;
  const id = fingerprint(`${query} ${n}`).slice(0, 16);
  const day = new Date(Date.UTC(2026, 0, 1) - seeded.integer({ from: 0, to: 700 }) * 86_400_000);
  return {
    id,
    title: `${kind} ${topic}`,
    url: `https://${host}.example/${encodeURIComponent(topic.toLowerCase())}/${id}`,
    snippet,
    text: `${snippet} The question was: ${excerpt(query)}. ${author} looked at it from several sides.`,
    author,
    date: day.toISOString().slice(0, 10),
    score: Number((0.99 - n * 0.009 - seeded.fraction() * 0.005).toFixed(4)),
  };
}
