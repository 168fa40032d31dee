import { expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatAnswer, ChatEvent, ChatPart } from "../chat.ts";
import type { SseEvent } from "../dialect.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { context, expressibleAnswer } from "./test-chat-samples.ts";

const { createEventReader, createEventWriter, readAnswer, writeAnswer } = anthropicDialect;

test("a written stream is read to the same answer as the written JSON", () => {
  fc.assert(
    fc.property(expressibleAnswer, fc.boolean(), (answer, usageFirst) => {
      const told =
        usageFirst || answer.usage === undefined ? answer.usage : { ...answer.usage, cacheWrite1h: 0 };
      const said = { ...answer, usage: told };
      const read = createEventReader();
      const streamed = accumulate(writeAll(eventsOf(said, usageFirst)).flatMap((event) => read(event)));
      expect(streamed).toEqual(readAnswer(writeAnswer(said, context)));
    }),
  );
});

function eventsOf(answer: ChatAnswer, usageFirst: boolean): ChatEvent[] {
  const counted: ChatEvent[] = answer.usage === undefined ? [] : [{ kind: "usage", usage: answer.usage }];
  return [
    { kind: "start", id: answer.id, model: answer.model },
    ...(usageFirst ? counted : []),
    ...answer.parts.flatMap((part, index) => [
      ...piecesOf(part, index),
      { kind: "part_end", index } as const,
    ]),
    { kind: "stop", reason: answer.stop, stopSequence: answer.stopSequence },
    ...(usageFirst ? [] : counted),
  ];
}

function piecesOf(part: ChatPart, index: number): ChatEvent[] {
  switch (part.kind) {
    case "text":
      return [part.text.slice(0, 3), part.text.slice(3)].map((text) => ({ kind: "text", index, text }));
    case "reasoning":
      return [{ ...part, index }];
    case "tool_call":
      return [
        { ...part, index },
        { kind: "tool_arguments", index, text: part.arguments },
      ];
    default:
      return [];
  }
}

function accumulate(events: readonly ChatEvent[]): ChatAnswer {
  const parts: ChatPart[] = [];
  let answer: ChatAnswer = { ...emptyAnswer, parts };
  for (const event of events) {
    if (event.kind === "start") answer = { ...answer, id: event.id, model: event.model };
    else if (event.kind === "usage") answer = { ...answer, usage: event.usage };
    else if (event.kind === "stop")
      answer = { ...answer, stop: event.reason, stopSequence: event.stopSequence };
    else if (event.kind !== "error" && event.kind !== "part_end" && event.kind !== "media") {
      const grown = grow(parts[event.index], event);
      if (grown !== undefined) parts[event.index] = grown;
    }
  }
  return answer;
}

const emptyAnswer: ChatAnswer = {
  id: undefined,
  model: undefined,
  parts: [],
  stop: "end",
  stopSequence: undefined,
  usage: undefined,
};

function grow(
  part: ChatPart | undefined,
  event: Extract<ChatEvent, { kind: "text" | "reasoning" | "tool_call" | "tool_arguments" | "image" }>,
): ChatPart | undefined {
  const { index: _index, ...said } = event;
  if (said.kind === "image") return said;
  if (said.kind === "tool_call") return { ...said, arguments: "" };
  if (said.kind === "tool_arguments") {
    return part?.kind === "tool_call" ? { ...part, arguments: part.arguments + said.text } : part;
  }
  return part?.kind === said.kind ? { ...part, ...said, text: part.text + said.text } : said;
}

function writeAll(events: readonly ChatEvent[]): SseEvent[] {
  const writer = createEventWriter(context);
  return [...events.flatMap((event) => writer.write(event)), ...writer.end()];
}
