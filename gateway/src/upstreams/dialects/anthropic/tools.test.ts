import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { asked, plainRequest, refusedField } from "./test-chat-samples.ts";

const read = (body: JsonObject): ChatRequest => anthropicDialect.readRequest(body, asked);
const write = (more: Partial<ChatRequest>): JsonObject =>
  anthropicDialect.writeRequest({ ...plainRequest, ...more });

const schema = { type: "object", properties: { city: { type: "string" } }, additionalProperties: false };
const tool = { name: "weather", description: "Tells it", parameters: schema, strict: true };

test("tools go both ways", () => {
  const written = [{ name: "weather", description: "Tells it", input_schema: schema, strict: true }];
  expect(read({ tools: written }).tools).toEqual([tool]);
  expect(
    read({ tools: [{ type: "custom", ...written[0], cache_control: { type: "ephemeral" } }] }).tools,
  ).toEqual([tool]);
  expect(write({ tools: [tool] })["tools"]).toStrictEqual(written);
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
