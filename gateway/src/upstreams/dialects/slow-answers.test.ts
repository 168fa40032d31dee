// What one vendor answers must not keep the callers of all others waiting: reading it and saying it in another
// dialect's words takes time that grows with its length, and no faster.

import { expect, test } from "bun:test";
import type { CallersDialect, ModelDialect } from "../../platform/dialect.ts";
import { expectInProportion } from "../../platform/test-in-proportion.ts";
import { readResponseHead } from "../http/response-head.ts";
import { responseEvents } from "../exchanges/responses-events.ts";
import type { SseEvent } from "./dialect.ts";
import { dialects, spokenDialects } from "./dialects.ts";
import { responsesDialect } from "./responses/responses-dialect.ts";

const context = { id: "x", model: "m", createdSeconds: 0, includeUsage: false };

/** All of these events, read and written again; the number of what was written. */
function translate(from: ModelDialect | "responses", to: CallersDialect, events: readonly object[]): number {
  const read = spokenByVendors[from].createEventReader();
  const writer = spokenDialects[to].createEventWriter(context);
  let written = 0;
  for (const event of events) {
    for (const said of read(sse(event))) written += writer.write(said).length;
  }
  return written + writer.end().length;
}

const spokenByVendors = { ...dialects, responses: responsesDialect };

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

const longName = (count: number): string => "é".repeat(10 * count);

const callsWithoutIds = (count: number): object[] => [
  { ...chunk({}), id: longName(count) },
  ...repeat(count, (index) => chunk({ tool_calls: [{ index, function: { name: "f", arguments: "{}" } }] })),
];

const partsOfLongId = (count: number): object[] => [
  { responseId: longName(count), candidates: [{ content: { parts: repeat(count, () => ({ text: "a" })) } }] },
];

const piecesOfLongNames = (count: number): object[] => [
  { type: "message_start", message: { id: `chatcmpl-${longName(count)}`, model: longName(count) } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ...repeat(count, () => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: "a" },
  })),
];

const figuresOfManyNames = (count: number): object[] =>
  repeat(count, (at) => ({ type: "message_delta", usage: { [`f${at}`]: 1 } }));

const figuresAfterAList = (count: number): object[] => [
  {
    type: "message_start",
    message: { usage: { iterations: repeat(count, () => ({ type: "compaction", input_tokens: 1 })) } },
  },
  ...repeat(count, () => ({ type: "message_delta", usage: { output_tokens: 1 } })),
];

const itemsOfAResponse = (count: number): object[] => [
  { type: "response.created", response: { id: longName(count), model: longName(count) } },
  ...repeat(count, (at) => {
    const call = { type: "function_call", call_id: `c${at}`, name: "f", arguments: "{}" };
    const thought = { type: "reasoning", id: "rs_1", encrypted_content: "s" };
    return [
      { type: "response.output_item.done", output_index: 3 * at, item: thought },
      { type: "response.output_text.delta", output_index: 3 * at + 1, delta: "a" },
      { type: "response.output_item.added", output_index: 3 * at + 2, item: { ...call, arguments: "" } },
      { type: "response.function_call_arguments.delta", output_index: 3 * at + 2, delta: "{}" },
      { type: "response.output_item.done", output_index: 3 * at + 2, item: call },
    ];
  }).flat(),
  { type: "response.completed", response: { status: "completed" } },
];

const argumentsOfAResponse = (count: number): object[] => [
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "function_call", call_id: "c", name: "f" },
  },
  ...repeat(count, () => ({ type: "response.function_call_arguments.delta", output_index: 0, delta: " " })),
];

const streams = [
  ["responses", itemsOfAResponse, 1000],
  ["responses", argumentsOfAResponse, 8000],
  ["openai", interleaved, 4000],
  ["openai", choices, 4000],
  ["openai", callsWithoutIds, 1200],
  ["gemini", pieces, 10_000],
  ["gemini", partsOfLongId, 500],
  ["anthropic", piecesOfLongNames, 4800],
  ["anthropic", figuresOfManyNames, 1500],
  ["anthropic", figuresAfterAList, 1000],
] as const;

const cases = streams.flatMap(([from, events, count]) =>
  Object.values(spokenDialects).map(({ name: to }) => [events.name, from, to, events, count] as const),
);

test.each(cases)("%s of %s in words of %s: four times as much takes about as much longer", (...given) => {
  const [, from, to, events, count] = given;
  expectInProportion((size) => {
    const said = events(size);
    return () => void translate(from, to, said);
  }, count);
});

test("calls that wait until the one before has ended: four times as many take about as much longer", () => {
  expectInProportion((size) => {
    const calls = repeat(size, (index) => ({ kind: "tool_call", index, id: "c", name: "f" }) as const);
    const ends = repeat(size, (index) => ({ kind: "part_end", index }) as const);
    return () => {
      const writer = dialects.anthropic.createEventWriter(context);
      for (const event of [...calls, ...ends]) writer.write(event);
    };
  }, 40_000);
});

test("a whole answer of many calls and a long id: four times as much takes about as much longer", () => {
  expectInProportion((size) => {
    const tool_calls = repeat(size, () => ({ function: { name: "f", arguments: "{}" } }));
    const answer = { id: longName(size), choices: [{ message: { tool_calls } }] };
    return () => expect(dialects.openai.readAnswer(answer).parts.length).toBe(size);
  }, 600);
});

test("a response whose item has a long id is not said in events, each with that id in it", () => {
  const content = repeat(3, () => ({ type: "output_text", text: "a" }));
  const said = (id: unknown) =>
    responseEvents({ status: "completed", output: [{ type: "message", id, content }] });
  expect(said("msg_1")).toContain('"item_id":"msg_1"');
  expect(said(undefined)).toContain("response.completed");
  for (const id of ["x".repeat(201), { x: 1 }]) expect(said(id)).toBeUndefined();
});

test("a date among spaces: four times as many take about as much longer", () => {
  expectInProportion((size) => {
    const head = `HTTP/1.1 429 X\r\nretry-after: 1\r\ndate: a${" ".repeat(size)}b\r\n`;
    return () => expect(readResponseHead(head)?.status).toBe(429);
  }, 16_000);
});
