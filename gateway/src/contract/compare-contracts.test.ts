import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../platform/json.ts";
import { compareContracts } from "./compare-contracts.ts";

/** A contract of one operation, with whatever a test says about it. */
const contract = (described: JsonObject, path = "/v1/a", schemas: JsonObject = {}): JsonObject => ({
  paths: { [path]: { post: { operationId: "a", ...described } } },
  components: { schemas },
});

const query = (schema: JsonObject, required = false): JsonObject => ({
  parameters: [{ name: "q", in: "query", required, schema }],
});
const body = (schema: JsonObject): JsonObject => ({
  requestBody: { required: true, content: { "application/json": { schema } } },
});
const answer = (schema: JsonObject, status = "200"): JsonObject => ({
  responses: { [status]: { content: { "application/json": { schema } } } },
});
const object = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
});
const text = { type: "string" };

const changesBetween = (before: JsonObject, after: JsonObject): [kind: string, breaking: boolean][] =>
  compareContracts(before, after).changed.flatMap(({ changes }) =>
    changes.map(({ kind, breaking }): [string, boolean] => [kind, breaking]),
  );

test("a contract is no change to itself", () => {
  const same = contract({ ...query(text), ...body(object({ a: text })), ...answer(object({ b: text })) });
  expect(compareContracts(same, structuredClone(same))).toEqual({
    breaking: false,
    added: [],
    removed: [],
    changed: [],
  });
});

test("an operation more breaks nobody; an operation less does", () => {
  const none = { paths: {} };
  const one = contract({});
  expect(compareContracts(none, one)).toEqual({ breaking: false, added: ["a"], removed: [], changed: [] });
  expect(compareContracts(one, none)).toEqual({ breaking: true, added: [], removed: ["a"], changed: [] });
});

describe("what callers send:", () => {
  const cases: [name: string, before: JsonObject, after: JsonObject, kind: string, breaking: boolean][] = [
    ["a parameter is gone", query(text), {}, "parameter_removed", true],
    ["a parameter is new", {}, query(text), "parameter_added", false],
    ["a required parameter is new", {}, query(text, true), "parameter_added", true],
    ["a parameter became required", query(text), query(text, true), "became_required", true],
    ["a parameter became optional", query(text, true), query(text), "became_optional", false],
    ["a type is narrower", query({}), query({ type: "integer" }), "type_narrowed", true],
    ["a value is gone", query({ enum: ["a", "b"] }), query({ enum: ["a"] }), "value_removed", true],
    ["a value is new", query({ enum: ["a"] }), query({ enum: ["a", "b"] }), "value_added", false],
    ["values are limited", query(text), query({ ...text, enum: ["a"] }), "values_limited", true],
    ["less fits", query({ ...text, maxLength: 9 }), query({ ...text, maxLength: 8 }), "bound_narrowed", true],
    ["more fits", query({ ...text, maxLength: 8 }), query({ ...text, maxLength: 9 }), "bound_widened", false],
    ["more is asked", query({ ...text }), query({ ...text, minLength: 1 }), "bound_narrowed", true],
    ["a pattern is asked for", query(text), query({ ...text, pattern: "^a" }), "pattern_changed", true],
    ["a member is gone", body(object({ a: text })), body(object({})), "member_removed", true],
    ["a member is new", body(object({})), body(object({ a: text })), "member_added", false],
    ["a required member is new", body(object({})), body(object({ a: text }, ["a"])), "member_added", true],
    [
      "a member became required",
      body(object({ a: text })),
      body(object({ a: text }, ["a"])),
      "became_required",
      true,
    ],
    [
      "strangers are refused",
      body(object({})),
      body({ ...object({}), additionalProperties: false }),
      "members_closed",
      true,
    ],
    [
      "an alternative is gone",
      body({ anyOf: [text, { type: "null" }] }),
      body({ anyOf: [text] }),
      "alternative_removed",
      true,
    ],
    ["a body is asked for", {}, body(text), "body_added", true],
    ["a body is taken no more", body(text), {}, "body_removed", true],
    [
      "a key opens it no more",
      { security: [{ bearer: [] }, { other: [] }] },
      { security: [{ bearer: [] }] },
      "key_removed",
      true,
    ],
  ];
  test.each(cases)("%s", (_, before, after, kind, breaking) => {
    expect(changesBetween(contract(before), contract(after))).toEqual([[kind, breaking]]);
  });

  test("an integer where a number was is narrower, a number where an integer was is not", () => {
    const [integer, number] = [query({ type: "integer" }), query({ type: "number" })].map((one) =>
      contract(one),
    );
    expect(changesBetween(number ?? {}, integer ?? {})).toContainEqual(["type_narrowed", true]);
    expect(changesBetween(integer ?? {}, number ?? {})).toEqual([["type_widened", false]]);
  });

  test("an operation that moved breaks", () => {
    expect(changesBetween(contract({}), contract({}, "/v1/b"))).toEqual([["moved", true]]);
  });
});

describe("what callers get:", () => {
  const cases: [name: string, before: JsonObject, after: JsonObject, kind: string, breaking: boolean][] = [
    ["a member is gone", answer(object({ a: text })), answer(object({})), "member_removed", true],
    ["a member is new", answer(object({})), answer(object({ a: text }, ["a"])), "member_added", false],
    [
      "a member need not be there",
      answer(object({ a: text }, ["a"])),
      answer(object({ a: text })),
      "became_optional",
      true,
    ],
    [
      "a member may be null",
      answer(object({ a: text })),
      answer(object({ a: { type: ["string", "null"] } })),
      "type_widened",
      true,
    ],
    ["a word is new", answer({ enum: ["a"] }), answer({ enum: ["a", "b"] }), "value_added", false],
    ["a word is gone", answer({ enum: ["a", "b"] }), answer({ enum: ["a"] }), "value_removed", false],
    [
      "another form is new",
      answer({ anyOf: [text] }),
      answer({ anyOf: [text, object({})] }),
      "alternative_added",
      true,
    ],
    ["success is gone", answer(text), { responses: {} }, "answer_removed", true],
    ["a refusal is gone", answer(text, "409"), { responses: {} }, "answer_removed", false],
    ["a refusal is new", { responses: {} }, answer(text, "409"), "answer_added", false],
  ];
  test.each(cases)("%s", (_, before, after, kind, breaking) => {
    expect(changesBetween(contract(before), contract(after))).toEqual([[kind, breaking]]);
  });
});

test("what a name stands for is compared, not the name", () => {
  const named = answer({ $ref: "#/components/schemas/Thing" });
  const before = contract(named, "/v1/a", { Thing: object({ a: text, b: text }) });
  const after = contract(named, "/v1/a", { Thing: object({ a: text }) });
  expect(compareContracts(before, after).changed).toEqual([
    {
      operation_id: "a",
      breaking: true,
      changes: [{ kind: "member_removed", at: "200.b", breaking: true, reason: "it is gone" }],
    },
  ]);
});

test("schemas that refer to themselves are compared and come to an end", () => {
  const loop = (more: JsonObject) =>
    contract(answer({ $ref: "#/components/schemas/Tree" }), "/v1/a", {
      Tree: object({ inner: { $ref: "#/components/schemas/Tree" }, ...more }),
    });
  expect(compareContracts(loop({}), loop({ leaf: text })).breaking).toBe(false);
});

test("a dearer or cheaper call is a change that breaks nobody", () => {
  const priced = (usd: string) =>
    contract({ "x-price": { kind: "per_token", models: [{ model: "m", usd_per_unit: { input: usd } }] } });
  const only = (before: JsonObject, after: JsonObject) => compareContracts(before, after).changed[0]?.changes;
  expect(only(priced("0.05"), priced("0.06"))).toEqual([
    {
      kind: "price_raised",
      at: "price models m usd_per_unit input",
      breaking: false,
      reason: "0.05 became 0.06",
    },
  ]);
  expect(only(priced("10"), priced("9"))).toMatchObject([{ kind: "price_lowered", breaking: false }]);
});

test("a model that is taken from sale breaks its callers; one more does not", () => {
  const selling = (...models: readonly string[]) =>
    contract({
      "x-price": {
        kind: "per_token",
        default_model: null,
        models: models.map((model) => ({ model, usd_per_unit: { input: "1", output: "2" } })),
      },
    });
  const gone = {
    kind: "model_removed",
    at: "price models a",
    breaking: true,
    reason: "it is not sold any more",
  };
  const come = { kind: "model_added", at: "price models b", breaking: false, reason: "it is sold now" };
  const between = (before: JsonObject, after: JsonObject) => {
    const { breaking, changed } = compareContracts(before, after);
    return { breaking, changes: changed.flatMap(({ changes }) => changes) };
  };
  expect(between(selling("a", "c"), selling("c"))).toEqual({ breaking: true, changes: [gone] });
  expect(between(selling("c"), selling("b", "c"))).toEqual({ breaking: false, changes: [come] });
  expect(between(selling("a"), selling("b"))).toEqual({ breaking: true, changes: [gone, come] });
});

test("other words and what became of a definition are told", () => {
  const before = contract({ summary: "A", "x-definition": "pending" });
  expect(changesBetween(before, contract({ summary: "B" }))).toEqual([
    ["words_changed", false],
    ["words_changed", false],
  ]);
});
