// What holds for every conversation: nothing is lost on the way out and back.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../../platform/json.ts";
import { isSaid } from "../added-instructions.ts";
import type { ChatAnswer, ChatEvent, ChatMessage, ChatPart, ChatRequest } from "../chat.ts";
import type { WriteContext } from "../dialect.ts";
import { openaiDialect } from "./openai-dialect.ts";

const { readRequest, writeRequest, readAnswer, writeAnswer } = openaiDialect;
const context: WriteContext = { id: "chatcmpl-1", model: "m", createdSeconds: 1, includeUsage: true };

const words = fc.string({ minLength: 1, unit: "binary" });
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });
const text = fc.record({ kind: fc.constant("text" as const), text: words });
/** Texts alone are told as one. */
const atMostOneText = fc.array(text, { maxLength: 1 });
const image = fc.record({
  kind: fc.constant("image" as const),
  source: fc.oneof(
    fc.record({ mimeType: fc.constantFrom("image/png", "image/webp"), base64: fc.base64String() }),
    fc.record({ url: fc.webUrl() }),
  ),
});
const call = fc.record({
  kind: fc.constant("tool_call" as const),
  id: words,
  name: words,
  arguments: fc.oneof(words, fc.constant("")),
});
const result = fc.record({
  kind: fc.constant("tool_result" as const),
  callId: words,
  name: fc.constant(undefined),
  content: atMostOneText,
  isError: fc.constant(false),
});
const listOf = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(item, { maxLength: 3 });
const flat = (lists: fc.Arbitrary<ChatPart[]>[]): fc.Arbitrary<ChatPart[]> =>
  fc.tuple(...lists).map((all) => all.flat());
const textsAndImages = flat([fc.tuple(image), listOf(fc.oneof(text, image))]);
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.record({
    role: fc.constant("user" as const),
    parts: flat([listOf(result), fc.oneof(atMostOneText, textsAndImages)]),
  }),
  fc.record({ role: fc.constant("assistant" as const), parts: flat([atMostOneText, listOf(call)]) }),
);
const messages = fc.array(message, { maxLength: 5 });
const hasTool = ({ parts }: ChatMessage): boolean =>
  parts.some(({ kind }) => kind === "tool_call" || kind === "tool_result");
/** Neighbours with one role are told as one turn where a tool is in them, and not as they were. */
const withoutSplitTurns = (all: readonly ChatMessage[]): ChatMessage[] =>
  all.reduce<ChatMessage[]>((kept, each) => {
    const before = kept.at(-1);
    const isSplit = before?.role === each.role && [before, each].some(hasTool);
    return isSplit ? kept : [...kept, each];
  }, []);
const schema: fc.Arbitrary<JsonObject> = fc.dictionary(
  words.filter((name) => name !== "__proto__"),
  // A negative zero does not survive JSON itself.
  fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown),
);
/** Strict is said only of a schema that OpenAI is strict about. */
const mayBeStrict = fc.oneof(
  fc.record({ schema, strict: fc.constantFrom(false, undefined) }),
  fc.record({
    schema: fc.constant<JsonObject>({ type: "object", properties: {}, additionalProperties: false }),
    strict: fc.constant(true),
  }),
);
const tool = fc
  .record({ name: words, description: maybe(words), parameters: mayBeStrict })
  .map((each) => ({ ...each, parameters: each.parameters.schema, strict: each.parameters.strict }));
const withTools = fc.record({
  tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
  toolChoice: maybe(
    fc.oneof(
      fc.constantFrom("auto" as const, "none" as const, "required" as const),
      fc.record({ name: words }),
    ),
  ),
  parallelToolCalls: maybe(fc.boolean()),
});
const withoutTools = fc.constant({ tools: [], toolChoice: undefined, parallelToolCalls: undefined });
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const settings = fc.record({
  // It takes "none", which other models do not, and the efforts below.
  model: fc.constant("gpt-5.2"),
  system: atMostOneText,
  messages: messages.map(withoutSplitTurns),
  outputTokensMax: maybe(fc.nat()),
  temperature: maybe(number),
  topP: maybe(number),
  topK: fc.constant(undefined),
  stop: listOf(words),
  seed: maybe(fc.integer()),
  frequencyPenalty: maybe(number),
  presencePenalty: maybe(number),
  output: maybe(
    fc.oneof(
      fc.constantFrom({ kind: "text" } as const, { kind: "json" } as const),
      fc
        .record({ kind: fc.constant("json_schema" as const), name: words, held: mayBeStrict })
        .map(({ held, ...format }) => ({ ...format, ...held })),
    ),
  ),
  reasoning: maybe(
    fc.oneof(
      fc.constant("off" as const),
      fc.record({ effort: fc.constantFrom("low", "medium", "high", "xhigh" as const) }),
    ),
  ),
  endUser: maybe(fc.stringMatching(/^[a-z][A-Za-z0-9_-]{0,63}$/)),
  stream: fc.boolean(),
});
const request: fc.Arbitrary<ChatRequest> = fc
  .tuple(settings, fc.oneof(withTools, withoutTools))
  .map(([set, tools]) => ({ ...set, ...tools }));

test("a request that can be said in this dialect is read back as it was", () => {
  fc.assert(
    fc.property(request, (asked) => {
      const sent = JSON.parse(JSON.stringify(writeRequest(asked))) as JsonObject;
      const back = readRequest(sent, asked);
      expect({ ...back, messages: merged(back.messages) }).toEqual({
        ...asked,
        messages: merged(asked.messages),
      });
    }),
  );
});

test("nothing stands between calls and their results, and no part is lost, however the turns were split", () => {
  fc.assert(
    fc.property(messages, (split) => {
      const sent = writeRequest({ ...said, messages: split })["messages"] as JsonObject[];
      for (const [at, { role }] of sent.entries()) {
        const before = sent[at - 1];
        if (before?.["tool_calls"] !== undefined) expect(role).not.toBe("assistant");
        if (role === "tool" && before?.["role"] === "user")
          throw new Error("A user's message stands before a result.");
      }
      const back = readRequest({ messages: sent }, said).messages;
      for (const kind of ["tool_call", "tool_result", "image"] as const)
        expect(partsOf(back, kind)).toEqual(partsOf(split, kind));
      const textsBack = partsOf(back, "text").map((part) => part.text);
      expect(textsBack.join("").replaceAll("\n\n", "")).toBe(
        partsOf(split, "text")
          .map((part) => part.text)
          .join("")
          .replaceAll("\n\n", ""),
      );
    }),
  );
});

const said = readRequest({ messages: [] }, { model: "gpt-5.2", stream: false });
const partsOf = <K extends ChatPart["kind"]>(all: ChatRequest["messages"], kind: K) =>
  all
    .flatMap(({ parts }): readonly ChatPart[] => parts)
    .filter((part): part is Extract<ChatPart, { kind: K }> => part.kind === kind);

const count = fc.nat(1_000_000);
const usage = fc
  .record({
    input: count,
    output: count,
    cacheRead: count,
    cacheWrite: count,
    cacheWrite1h: count,
    reasoning: maybe(count),
  })
  .map((used) => ({
    ...used,
    reasoning: used.reasoning === undefined ? undefined : Math.min(used.reasoning, used.output),
  }));
const thinking = fc.record({ kind: fc.constant("reasoning" as const), text: words });
const signedCall = fc
  .tuple(call, maybe(words))
  .map(([made, signature]) => (signature === undefined ? made : { ...made, signature }));
const answer: fc.Arbitrary<ChatAnswer> = fc
  .record({
    id: fc.constantFrom("chatcmpl-a", "chatcmpl-1"),
    model: fc.constant("m"),
    parts: flat([listOf(thinking), listOf(text), listOf(signedCall)]),
    stop: fc.constantFrom("end" as const, "length" as const, "filtered" as const),
    stopSequence: fc.constant(undefined),
    usage: maybe(usage),
  })
  .map((made) => ({ ...made, stop: called(made.parts) && made.stop === "end" ? "tool_calls" : made.stop }));

test("an answer is read back as it was, and so is the same answer streamed in whatever pieces", () => {
  fc.assert(
    fc.property(answer, fc.integer({ min: 1, max: 5 }), (given, size) => {
      const wanted = { ...given, parts: joined(given.parts) };
      expect(readAnswer(JSON.parse(JSON.stringify(writeAnswer(given, context))))).toEqual(wanted);

      const writer = openaiDialect.createEventWriter(context);
      const sent = [...eventsOf(given, size).flatMap(writer.write), ...writer.end()];
      expect(accumulated(sent.flatMap(openaiDialect.createEventReader()))).toEqual(wanted);
    }),
  );
});

test("whatever a vendor sends, reading neither throws nor counts below nothing", () => {
  const odd = fc.oneof(fc.jsonValue(), fc.double(), fc.integer());
  const names = ["error", "choices", "usage", "id"];
  const sent = fc.oneof(
    odd,
    fc.record(Object.fromEntries(names.map((name) => [name, odd]))),
    fc.record({
      choices: listOf(
        fc.record({
          delta: fc.record({ content: odd, tool_calls: listOf(odd), refusal: odd }),
          message: fc.record({ content: odd, tool_calls: listOf(odd), images: odd }),
          finish_reason: odd,
        }),
      ),
      usage: fc.record({
        prompt_tokens: odd,
        completion_tokens: odd,
        prompt_tokens_details: fc.record({
          cached_tokens: odd,
          cache_write_tokens: odd,
          cache_creation_token_details: fc.record({ ephemeral_1h_input_tokens: odd }),
        }),
        completion_tokens_details: fc.record({ reasoning_tokens: odd }),
      }),
    }),
  );
  fc.assert(
    fc.property(listOf(sent), (chunks) => {
      const read = openaiDialect.createEventReader();
      for (const chunk of chunks) {
        const events = read({ event: undefined, data: JSON.stringify(chunk) ?? "" });
        const figures = [readAnswer(chunk).usage, ...events.map((event) => "usage" in event && event.usage)];
        for (const used of figures) {
          for (const figure of Object.values(used || {})) expect(figure ?? 0).toBeGreaterThanOrEqual(0);
        }
      }
      read({ event: undefined, data: "[DONE]" });
    }),
  );
});

test("the buckets of usage sum to what the vendor reported", () => {
  fc.assert(
    fc.property(count, count, count, count, count, (prompt, output, cached, written, hour) => {
      const details = {
        cached_tokens: cached,
        cache_write_tokens: written,
        cache_creation_token_details: { ephemeral_1h_input_tokens: hour },
      };
      const { usage: used } = readAnswer({
        usage: { prompt_tokens: prompt, completion_tokens: output, prompt_tokens_details: details },
      });
      const { input = 0, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0 } = used ?? {};
      expect(input + cacheRead + cacheWrite + cacheWrite1h).toBe(prompt);
      expect(used?.output).toBe(output);
    }),
  );
});

const called = (parts: readonly ChatPart[]): boolean => parts.some(({ kind }) => kind === "tool_call");

/** Neighbours of one role say the same apart and together. */
function merged(messages: ChatRequest["messages"]): readonly ChatMessage[] {
  const result: ChatMessage[] = [];
  for (const { role, parts } of messages.filter(isSaid)) {
    const last = result.at(-1);
    if (last?.role === role) result.splice(-1, 1, { role, parts: [...last.parts, ...parts] });
    else result.push({ role, parts });
  }
  return result;
}

/** So do neighbouring texts, and neighbouring thoughts. */
function joined(parts: readonly ChatPart[]): readonly ChatPart[] {
  const result: ChatPart[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    const speaks = part.kind === "text" || part.kind === "reasoning";
    if (speaks && last?.kind === part.kind) result.splice(-1, 1, { ...part, text: last.text + part.text });
    else result.push(part);
  }
  return result;
}

function eventsOf({ id, model, parts, stop, usage: used }: ChatAnswer, size: number): readonly ChatEvent[] {
  const pieces = (whole: string): readonly string[] =>
    Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
      whole.slice(at * size, (at + 1) * size),
    );
  const events = parts.flatMap((part, index): readonly ChatEvent[] => {
    if (part.kind === "text" || part.kind === "reasoning") {
      return pieces(part.text).map((piece) => ({ kind: part.kind, index, text: piece }));
    }
    if (part.kind !== "tool_call") return [];
    const { arguments: whole, kind, ...begun } = part;
    const given = pieces(whole).map((piece) => ({ kind: "tool_arguments", index, text: piece }) as const);
    return [{ kind, index, ...begun }, ...given];
  });
  return [
    { kind: "start", id, model },
    ...events,
    ...(used === undefined ? [] : [{ kind: "usage", usage: used } as const]),
    { kind: "stop", reason: stop, stopSequence: undefined },
  ];
}

function accumulated(events: readonly ChatEvent[]): ChatAnswer {
  const parts: ChatPart[] = [];
  let answered: ChatAnswer = readAnswer({});
  for (const event of events) {
    if (event.kind === "start") answered = { ...answered, id: event.id, model: event.model };
    if (event.kind === "usage") answered = { ...answered, usage: event.usage };
    if (event.kind === "stop") answered = { ...answered, stop: event.reason };
    if (event.kind === "tool_call") {
      const { index, ...begun } = event;
      parts[index] = { ...begun, arguments: "" };
    }
    if (event.kind === "text" || event.kind === "reasoning") {
      const known = parts[event.index];
      parts[event.index] = {
        kind: event.kind,
        text: (known?.kind === event.kind ? known.text : "") + event.text,
      };
    }
    if (event.kind === "tool_arguments") {
      const known = parts[event.index];
      if (known?.kind === "tool_call")
        parts[event.index] = { ...known, arguments: known.arguments + event.text };
    }
  }
  return { ...answered, parts };
}
