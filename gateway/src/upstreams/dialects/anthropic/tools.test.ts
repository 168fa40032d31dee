import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { refusedField } from "../test-requests.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { asked, plainRequest } from "./test-chat-samples.ts";

const read = (body: JsonObject): ChatRequest => anthropicDialect.readRequest(body, asked);
const write = (more: Partial<ChatRequest>): JsonObject =>
  anthropicDialect.writeRequest({ ...plainRequest, ...more });

const schema = { type: "object", properties: { city: { type: "string" } }, additionalProperties: false };
const tool = { name: "weather", description: "Tells it", parameters: schema, strict: true };

test("tools go both ways", () => {
  const written = [{ name: "weather", description: "Tells it", input_schema: schema, strict: true }];
  expect(read({ tools: written }).tools).toEqual([tool]);
  expect(write({ tools: [tool] })["tools"]).toStrictEqual(written);
  const marked = [{ ...written[0], cache_control: { type: "ephemeral" } }];
  expect(read({ tools: [{ type: "custom", ...marked[0] }] }).tools).toEqual([{ ...tool, cache: "5m" }]);
  expect(write({ tools: [{ ...tool, cache: "5m" }] })["tools"]).toStrictEqual(marked);
});

test("a strict tool takes closed objects only; any other is offered as it came", () => {
  const parameters = { type: "object", properties: { at: { type: "object", properties: {} } } };
  const closed = {
    type: "object",
    properties: { at: { type: "object", properties: {}, additionalProperties: false } },
    additionalProperties: false,
  };
  const offered = { name: "f", description: undefined, parameters };
  expect(write({ tools: [{ ...offered, strict: true }] })["tools"]).toStrictEqual([
    { name: "f", input_schema: closed, strict: true },
  ]);
  expect(write({ tools: [{ ...offered, strict: false }] })["tools"]).toStrictEqual([
    { name: "f", input_schema: parameters },
  ]);
  expect(write({ tools: [{ ...offered, parameters: {}, strict: true }] })["tools"]).toMatchObject([
    { input_schema: { type: "object", additionalProperties: false } },
  ]);
  // Closed, a map could only be empty; so the promise goes, not the map.
  const map = { type: "object", properties: { of: { additionalProperties: { type: "string" } } } };
  expect(write({ tools: [{ ...offered, parameters: map, strict: true }] })["tools"]).toStrictEqual([
    { name: "f", input_schema: map },
  ]);
});

test("a free object inside a strict tool stays free, and takes the promise with it", () => {
  for (const free of [{ type: "object" }, { type: "object", properties: {}, additionalProperties: true }]) {
    const parameters = { type: "object", properties: { meta: free }, required: ["meta"] };
    const offered = { name: "f", description: undefined, parameters, strict: true };
    expect(write({ tools: [offered] })["tools"]).toStrictEqual([{ name: "f", input_schema: parameters }]);
  }
});

test("more than Anthropic holds a model to in one request is offered without the promise", () => {
  const text = { type: "string" };
  const strictTool = (name: string, properties: object, required: readonly string[]) => ({
    name,
    description: undefined,
    parameters: { type: "object", properties, required, additionalProperties: false },
    strict: true,
  });
  const named = (count: number, of: object): object =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, of]));
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => strictTool(`f${at}`, { a: text }, ["a"]));
  const strictOnes = (tools: Parameters<typeof write>[0]["tools"]): number =>
    (write({ tools: tools ?? [] })["tools"] as readonly { strict?: boolean }[]).filter(({ strict }) => strict)
      .length;

  expect(strictOnes(many(20))).toBe(20);
  expect(strictOnes(many(21))).toBe(0);
  expect(strictOnes([strictTool("f", named(24, text), [])])).toBe(1);
  expect(strictOnes([strictTool("f", named(25, text), [])])).toBe(0);
  const either = { type: ["string", "null"] };
  const all = Array.from({ length: 17 }, (_, at) => `p${at}`);
  expect(strictOnes([strictTool("f", named(16, either), all)])).toBe(1);
  expect(strictOnes([strictTool("f", named(17, either), all)])).toBe(0);
});

const toolWithDefs = (defs: object, properties: object) => ({
  name: "f",
  description: undefined,
  parameters: { type: "object", properties, required: Object.keys(properties), $defs: defs },
  strict: true,
});
const isStrict = (offered: ReturnType<typeof toolWithDefs>): unknown =>
  (write({ tools: [offered] })["tools"] as readonly { strict?: boolean }[])[0]?.strict;

test("a schema that refers to itself is offered without the promise; one that is referred to twice keeps it", () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/node" } }, required: ["next"] };
  const leaf = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
  const either = [{ type: "string" }, { $ref: "#/$defs/either" }];
  expect(isStrict(toolWithDefs({ node }, { a: { $ref: "#/$defs/node" } }))).toBeUndefined();
  expect(isStrict(toolWithDefs({ either }, { a: { $ref: "#/$defs/either" } }))).toBeUndefined();
  expect(isStrict(toolWithDefs({}, { a: { $ref: "#" } }))).toBeUndefined();
  const twice = { a: { $ref: "#/$defs/leaf" }, b: { $ref: "#/$defs/leaf" } };
  expect(isStrict(toolWithDefs({ leaf }, twice))).toBe(true);
});

test("a list in a schema is looked into no more often where more references lead to it", () => {
  const looksFor = (references: number): number => {
    let looks = 0;
    const get = (list: object, name: PropertyKey): unknown => {
      if (name === "0") looks++;
      return Reflect.get(list, name);
    };
    const list = new Proxy([{ type: "string" }], { get });
    const anyOf = Array.from({ length: references }, () => ({ $ref: "#/$defs/list" }));
    expect(isStrict(toolWithDefs({ list }, { a: { anyOf } }))).toBe(true);
    return looks;
  };
  expect(looksFor(100)).toBe(looksFor(1));
});

test("a chain of as many references as a body holds is followed to its end", () => {
  const length = 40_000;
  const link = (at: number) => [`a${at}`, { $ref: `#/$defs/a${at + 1}` }] as const;
  const chain = Object.fromEntries(Array.from({ length }, (_, at) => link(at)));
  const first = { a: { $ref: "#/$defs/a0" } };
  expect(isStrict(toolWithDefs({ ...chain, [`a${length}`]: { type: "string" } }, first))).toBe(true);
  expect(isStrict(toolWithDefs({ ...chain, [`a${length}`]: { $ref: "#/$defs/a0" } }, first))).toBeUndefined();
});

test("a tool without parameters takes an object", () => {
  const bare = { name: "now", description: undefined, parameters: {}, strict: undefined };
  expect(write({ tools: [bare] })["tools"]).toStrictEqual([
    { name: "now", input_schema: { type: "object" } },
  ]);
});

test("Anthropic's own tools and what only its tools have are refused", () => {
  expect(refusedField(() => read({ tools: [{ type: "web_search_20250305", name: "web_search" }] }))).toBe(
    "tools",
  );
  expect(
    refusedField(() => read({ tools: [{ name: "f", input_schema: schema, defer_loading: true }] })),
  ).toBe("tools");
  expect(refusedField(() => read({ tools: [{ name: "f" }] }))).toBe("tools");
});

test("each choice of tools goes both ways", () => {
  const choices = [
    ["auto", { type: "auto" }],
    ["required", { type: "any" }],
    ["none", { type: "none" }],
    [{ name: "weather" }, { type: "tool", name: "weather" }],
  ] as const;
  for (const [toolChoice, written] of choices) {
    expect(read({ tool_choice: written }).toolChoice).toEqual(toolChoice);
    expect(write({ tools: [tool], toolChoice })["tool_choice"]).toStrictEqual(written);
  }
  expect(refusedField(() => read({ tool_choice: { type: "some" } }))).toBe("tool_choice.type");
});

test("one call at a time is said within the choice, which is auto where none was made", () => {
  expect(write({ tools: [tool], parallelToolCalls: false })["tool_choice"]).toStrictEqual({
    type: "auto",
    disable_parallel_tool_use: true,
  });
  expect(
    write({ tools: [tool], toolChoice: "required", parallelToolCalls: false })["tool_choice"],
  ).toStrictEqual({
    type: "any",
    disable_parallel_tool_use: true,
  });
  expect(write({ tools: [tool], parallelToolCalls: true })).not.toHaveProperty("tool_choice");
  expect(read({ tool_choice: { type: "any", disable_parallel_tool_use: true } })).toMatchObject({
    toolChoice: "required",
    parallelToolCalls: false,
  });
});

test("without tools no choice is written, and a demand for a call is refused", () => {
  for (const toolChoice of ["auto", "none", undefined] as const) {
    expect(write({ toolChoice, parallelToolCalls: false })).not.toHaveProperty("tool_choice");
  }
  expect(refusedField(() => write({ toolChoice: "required" }))).toBe("tool_choice");
});
