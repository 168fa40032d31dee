import { expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatAnswer, ChatEvent, ChatPart, ChatUsage, StopReason } from "../chat.ts";
import type { SseEvent } from "../dialect.ts";
import { geminiDialect } from "./gemini-dialect.ts";

const context = { id: "ours", model: "listed", createdSeconds: 0, includeUsage: false };
const text = fc.string({ minLength: 1 });
const token = fc.base64String({ minLength: 4 });
const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));
const args = fc
  .dictionary(fc.string(), json)
  .map((value) => JSON.stringify(JSON.parse(JSON.stringify(value))));

const part: fc.Arbitrary<ChatPart> = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text }),
  fc.record({ kind: fc.constant("reasoning" as const), text, signature: token }),
  fc.record(
    { kind: fc.constant("tool_call" as const), id: text, name: text, arguments: args, signature: token },
    { requiredKeys: ["kind", "id", "name", "arguments"] },
  ),
);

const usage: fc.Arbitrary<ChatUsage> = fc
  .record({
    input: fc.nat(),
    text: fc.nat(),
    cacheRead: fc.nat(),
    cacheWrite: fc.nat(),
    cacheWrite1h: fc.nat(),
    reasoning: fc.option(fc.nat(), { nil: undefined }),
  })
  .map(({ text: spoken, ...rest }) => ({ ...rest, output: spoken + (rest.reasoning ?? 0) }));

const answer: fc.Arbitrary<ChatAnswer> = fc.record({
  id: fc.option(text, { nil: undefined }),
  model: fc.option(text, { nil: undefined }),
  parts: fc.array(part, { maxLength: 5 }).map((parts) =>
    // Two texts in a row are one text here; so they are never two.
    parts.filter((each, at) => each.kind !== "text" || parts[at - 1]?.kind !== "text"),
  ),
  stop: fc.constantFrom<StopReason>("end", "length", "tool_calls", "stop_sequence", "filtered", "refusal"),
  stopSequence: fc.constant(undefined),
  usage: fc.option(usage, { nil: undefined }),
});

const written = (given: ChatAnswer): unknown =>
  JSON.parse(JSON.stringify(geminiDialect.writeAnswer(given, context)));

test("an answer that is written and read again is the same answer", () => {
  fc.assert(
    fc.property(answer, (given) => {
      expect(geminiDialect.readAnswer(written(given))).toEqual(asRead(given));
    }),
  );
});

test("a stream that is written and read again is the answer that would have come whole", () => {
  fc.assert(
    fc.property(answer, fc.integer({ min: 1, max: 4 }), fc.boolean(), (given, size, usageLast) => {
      const writer = geminiDialect.createEventWriter(context);
      const sent = [...eventsOf(given, size, usageLast).flatMap(writer.write), ...writer.end()];
      expect(accumulated(sent)).toEqual(geminiDialect.readAnswer(written(given)));
    }),
  );
});

/** Google has fewer reasons to stop, no writes to a cache, and always an id and a model. */
function asRead(given: ChatAnswer): ChatAnswer {
  const hasCalls = given.parts.some((each) => each.kind === "tool_call");
  const stops = { length: "length", filtered: "filtered", refusal: "filtered" } as const;
  const ended = hasCalls ? "tool_calls" : "end";
  return {
    ...given,
    id: given.id ?? context.id,
    model: given.model ?? context.model,
    stop: given.stop in stops ? stops[given.stop as keyof typeof stops] : ended,
    usage: given.usage && {
      ...given.usage,
      input: given.usage.input + given.usage.cacheWrite + given.usage.cacheWrite1h,
      cacheWrite: 0,
      cacheWrite1h: 0,
    },
  };
}

/** The events another vendor would have sent for this answer, its texts broken into pieces. */
function eventsOf(given: ChatAnswer, size: number, usageLast: boolean): ChatEvent[] {
  const pieces = (whole: string): string[] =>
    Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
      whole.slice(at * size, (at + 1) * size),
    );
  const told: ChatEvent[] = given.usage === undefined ? [] : [{ kind: "usage", usage: given.usage }];
  const parts = given.parts.flatMap((each, index): ChatEvent[] => {
    const end: ChatEvent = { kind: "part_end", index };
    if (each.kind === "text")
      return [...pieces(each.text).map((piece): ChatEvent => ({ ...each, index, text: piece })), end];
    if (each.kind === "reasoning") {
      const signed: ChatEvent = { ...each, index, text: "" };
      return [
        ...pieces(each.text).map((piece): ChatEvent => ({ kind: "reasoning", index, text: piece })),
        signed,
        end,
      ];
    }
    if (each.kind !== "tool_call") return [];
    const { arguments: whole, ...call } = each;
    const spoken = pieces(whole).map((piece): ChatEvent => ({ kind: "tool_arguments", index, text: piece }));
    return [{ ...call, index }, ...spoken, end];
  });
  return [
    { kind: "start", id: given.id, model: given.model },
    ...parts,
    ...(usageLast ? [] : told),
    { kind: "stop", reason: given.stop, stopSequence: undefined },
    ...(usageLast ? told : []),
  ];
}

function accumulated(sent: readonly SseEvent[]): ChatAnswer {
  const reader = geminiDialect.createEventReader();
  const parts: ChatPart[] = [];
  let whole: Omit<ChatAnswer, "parts"> = { ...emptyAnswer };
  for (const event of sent.flatMap(reader)) {
    if (event.kind === "start") whole = { ...whole, id: event.id, model: event.model };
    if (event.kind === "usage") whole = { ...whole, usage: event.usage };
    if (event.kind === "stop") whole = { ...whole, stop: event.reason };
    if ("index" in event) parts[event.index] = grown(parts[event.index], event);
  }
  return { ...whole, parts };
}

const emptyAnswer = {
  id: undefined,
  model: undefined,
  stop: "end",
  stopSequence: undefined,
  usage: undefined,
} as const;

function grown(before: ChatPart | undefined, event: Extract<ChatEvent, { index: number }>): ChatPart {
  if (event.kind === "tool_call") {
    const { index: _index, ...call } = event;
    return { ...call, arguments: "" };
  }
  if (event.kind === "text" || event.kind === "reasoning") {
    const { index: _index, ...piece } = event;
    return { ...piece, text: (before !== undefined && "text" in before ? before.text : "") + piece.text };
  }
  if (before === undefined) throw new Error("an event of a part that never began");
  if (event.kind === "tool_arguments" && before.kind === "tool_call") {
    return { ...before, arguments: before.arguments + event.text };
  }
  return before;
}
