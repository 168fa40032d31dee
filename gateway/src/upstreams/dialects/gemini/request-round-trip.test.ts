import { expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../../platform/json.ts";
import { isSaid } from "../added-instructions.ts";
import type { ChatMessage, ChatPart, ChatRequest, Reasoning } from "../chat.ts";
import { geminiDialect } from "./gemini-dialect.ts";

const text = fc.string({ minLength: 1 });
const textPart = fc.record({ kind: fc.constant("text" as const), text });
const imagePart = fc.record({
  kind: fc.constant("image" as const),
  source: fc.oneof(
    fc.record({ mimeType: fc.constantFrom("image/png", "image/webp"), base64: fc.base64String() }),
    fc.record({ url: fc.webUrl({ withQueryParameters: true }) }),
  ),
});
const reasoningPart = fc.record({ kind: fc.constant("reasoning" as const), text });
// A zero loses its sign in JSON.
const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));
const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,9}$/);
const args = fc.dictionary(name, json, { noNullPrototype: true }).map((value) => JSON.stringify(value));

/** A turn of the user, the model's answer to it and, where it called tools, their results. */
const exchange = fc.record({
  asked: fc.array(fc.oneof(textPart, imagePart), { minLength: 1, maxLength: 3 }),
  said: fc.array(fc.oneof(textPart, reasoningPart), { minLength: 1, maxLength: 3 }),
  calls: fc.array(
    fc.record({
      name,
      args,
      output: text,
      isError: fc.boolean(),
      images: fc.array(imagePart, { maxLength: 2 }),
    }),
    { maxLength: 3 },
  ),
});

const messages = fc.array(exchange, { minLength: 1, maxLength: 3 }).map((exchanges) =>
  exchanges.flatMap(({ asked, said, calls }, turn): ChatMessage[] => {
    const made = calls.map((call, at): ChatPart => {
      return { kind: "tool_call", id: `id-${turn}-${at}`, name: call.name, arguments: call.args };
    });
    const results = calls.map(({ output, isError, images }, at): ChatPart => {
      const content = [{ kind: "text" as const, text: output }, ...images];
      return { kind: "tool_result", callId: `id-${turn}-${at}`, name: undefined, content, isError };
    });
    return [
      { role: "user", parts: asked },
      { role: "assistant", parts: [...said.filter((part, at) => part.kind !== said[at - 1]?.kind), ...made] },
      ...(results.length === 0 ? [] : [{ role: "user" as const, parts: results }]),
    ];
  }),
);

const schema = fc.record({
  type: fc.constant("object"),
  properties: fc.dictionary(name, fc.record({ type: fc.constantFrom("string", "integer") }), {
    minKeys: 1,
    noNullPrototype: true,
  }),
});
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);

const anyRequest: fc.Arbitrary<ChatRequest> = fc.record({
  model: fc.constantFrom("gemini-2.5-flash", "gemini-3-flash"),
  system: fc.array(textPart, { maxLength: 2 }),
  messages,
  tools: fc.array(
    fc.record({ name, description: maybe(text), parameters: schema, strict: fc.constant(undefined) }),
    { minLength: 1, maxLength: 3 },
  ),
  toolChoice: fc.oneof(
    fc.constantFrom("auto" as const, "none" as const, "required" as const, undefined),
    fc.record({ name }),
  ),
  parallelToolCalls: fc.constant(undefined),
  outputTokensMax: maybe(fc.nat()),
  temperature: maybe(number),
  // 0.95 and 64 are what they are where nothing is said.
  topP: maybe(number.filter((topP) => topP !== 0.95)),
  topK: maybe(fc.nat().filter((topK) => topK !== 64)),
  stop: fc.array(text, { maxLength: 3 }),
  seed: maybe(fc.integer()),
  frequencyPenalty: maybe(number),
  presencePenalty: maybe(number),
  output: fc.oneof(
    fc.constantFrom(undefined, { kind: "text" as const }, { kind: "json" as const }),
    fc.record({
      kind: fc.constant("json_schema" as const),
      name: fc.constant("response"),
      schema,
      strict: fc.constant(true),
    }),
  ),
  reasoning: fc.oneof(
    fc.constantFrom(undefined, "off" as const),
    fc.record({ effort: fc.constantFrom("minimal" as const, "low", "medium", "high", "xhigh", "max") }),
    fc.record({ budgetTokens: fc.integer({ min: 1, max: 24_576 }) }),
  ),
  endUser: fc.constant(undefined),
  stream: fc.boolean(),
});
/** Gemini 2 takes no image in a result, and Gemini 3 cannot be told not to think. */
const request = anyRequest.filter(
  ({ model, messages: said, reasoning }) =>
    (model === "gemini-3-flash" && reasoning !== "off") ||
    (model === "gemini-2.5-flash" && !said.some(({ parts }) => parts.some(showsImage))),
);
const showsImage = (part: ChatPart): boolean =>
  part.kind === "tool_result" && part.content.some(({ kind }) => kind === "image");

test("a request that is written and read again is the same request", () => {
  fc.assert(
    fc.property(request, (asked) => {
      const { model, stream } = asked;
      const sent = JSON.stringify(geminiDialect.writeRequest(asked));
      const back = geminiDialect.readRequest(JSON.parse(sent) as JsonObject, { model, stream });
      expect(back).toEqual(asRead(asked));
    }),
  );
});

test("writing what was read and reading it again changes nothing more", () => {
  fc.assert(
    fc.property(request, (asked) => {
      const once = geminiDialect.writeRequest(asked);
      const read = geminiDialect.readRequest(once, { model: asked.model, stream: false });
      expect(geminiDialect.writeRequest(read)).toEqual(once);
    }),
  );
});

/** What this dialect says in its own way: results bear names, neighbours are one, efforts are levels or budgets. */
const asRead = (asked: ChatRequest): ChatRequest => ({
  ...asked,
  messages: merged(withNames(asked.messages.filter(isSaid))),
  reasoning: asked.model === "gemini-3-flash" ? asLevel(asked.reasoning) : asBudget(asked.reasoning),
});

function withNames(all: readonly ChatMessage[]): ChatMessage[] {
  const parts = all.flatMap((message) => message.parts);
  const names = new Map(parts.flatMap((part) => (part.kind === "tool_call" ? [[part.id, part.name]] : [])));
  return all.map(({ role, parts: own }) => ({
    role,
    parts: own.map((part) =>
      part.kind === "tool_result" ? { ...part, name: names.get(part.callId) } : part,
    ),
  }));
}

const merged = (all: readonly ChatMessage[]): ChatMessage[] =>
  all.reduce<ChatMessage[]>((before, message) => {
    const last = before.at(-1);
    if (last?.role !== message.role) return [...before, message];
    return [...before.slice(0, -1), { ...last, parts: [...last.parts, ...message.parts] }];
  }, []);

function asLevel(reasoning: Reasoning | undefined): Reasoning | undefined {
  if (reasoning === undefined || reasoning === "off" || !("effort" in reasoning)) return reasoning;
  return { effort: reasoning.effort === "xhigh" || reasoning.effort === "max" ? "high" : reasoning.effort };
}

function asBudget(reasoning: Reasoning | undefined): Reasoning | undefined {
  if (reasoning === undefined || reasoning === "off" || !("effort" in reasoning)) return reasoning;
  const most = 24_576;
  const budgets = { minimal: 512, low: 2048, medium: 8192, high: most, xhigh: most, max: most };
  return { budgetTokens: budgets[reasoning.effort] };
}
