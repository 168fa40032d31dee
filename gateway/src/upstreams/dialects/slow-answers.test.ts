// What one vendor answers must not keep the callers of all others waiting: reading it and saying it in another
// dialect's words takes time that grows with its length, and no faster.

import { expect, test } from "bun:test";
import { readResponseHead } from "../http/response-head.ts";
import type { SseEvent } from "./dialect.ts";
import { dialects } from "./dialects.ts";

const context = { id: "x", model: "m", createdSeconds: 0, includeUsage: false };

/** All of these events, read and written again; the number of what was written. */
function translate(from: string, to: string, events: readonly object[]): number {
  const read = dialects[from]?.createEventReader();
  const writer = dialects[to]?.createEventWriter(context);
  if (!read || !writer) throw new Error("no such dialect");
  let written = 0;
  for (const event of events) {
    for (const said of read(sse(event))) written += writer.write(said).length;
  }
  return written + writer.end().length;
}

const sse = (data: object): SseEvent => ({ event: undefined, data: JSON.stringify(data) });
const repeat = <Item>(count: number, item: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => item(at));
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "c",
  choices: [{ index: 0, delta, finish_reason }],
});

/** Each piece of arguments is for the first call, of which it is the furthest away. */
const interleaved = (count: number): object[] => [
  ...repeat(count, (index) =>
    chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: "f", arguments: "" } }] }),
  ),
  ...repeat(count, () => chunk({ tool_calls: [{ index: 0, function: { arguments: " " } }] })),
  chunk({}, "tool_calls"),
];

const choices = (count: number): object[] =>
  repeat(count, (index) => ({ id: "c", choices: [{ index, delta: { content: "a" }, finish_reason: null }] }));

const pieces = (count: number): object[] =>
  repeat(count, () => ({ candidates: [{ content: { parts: [{ text: "a", thought: true }] } }] }));

const streams = [
  ["openai", interleaved, 4000],
  ["openai", choices, 4000],
  ["gemini", pieces, 10_000],
] as const;

const cases = streams.flatMap(([from, events, count]) =>
  Object.keys(dialects).map((to) => [events.name, from, to, events, count] as const),
);

test.each(cases)("%s of %s in words of %s: four times as much takes about as much longer", (...given) => {
  const [, from, to, events, count] = given;
  expectInProportion((size) => {
    const said = events(size);
    return () => void translate(from, to, said);
  }, count);
});

test("a date among spaces: four times as many take about as much longer", () => {
  expectInProportion((size) => {
    const head = `HTTP/1.1 429 X\r\nretry-after: 1\r\ndate: a${" ".repeat(size)}b\r\n`;
    return () => expect(readResponseHead(head)?.status).toBe(429);
  }, 16_000);
});

function expectInProportion(prepare: (size: number) => () => void, size: number): void {
  const leastMs = (run: () => void): number => Math.min(...repeat(3, () => timed(run)));
  const once = leastMs(prepare(size));
  // What grows with the square takes sixteen times as long.
  expect(leastMs(prepare(4 * size))).toBeLessThan(11 * once + 50);
}

function timed(run: () => void): number {
  const startedMs = performance.now();
  run();
  return performance.now() - startedMs;
}
