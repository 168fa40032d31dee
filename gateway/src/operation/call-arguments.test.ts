import { describe, expect, test } from "bun:test";
import { argumentsSchema, parametersOf, writeRequest } from "./call-arguments.ts";
import { defineOperation, free, z } from "../for-catalogues.ts";

const common = { title: "", summary: "", category: "data", price: free, answer: async () => ({}) } as const;
const read = defineOperation({
  ...common,
  id: "read",
  method: "GET",
  path: "/apis/v1/{social_a}/things/{thing_id}",
  query: z.looseObject({ since: z.string().describe("From when on."), limit: z.string().optional() }),
});
const readPath = "/apis/v1/chirp/things/{thing_id}";
const write = defineOperation({
  ...common,
  id: "write",
  method: "POST",
  path: "/v1/models/{model}:run",
  query: z.object({ mode: z.string().optional() }),
  body: z.strictObject({ text: z.string() }),
});

describe("arguments become the request that HTTP would bring", () => {
  test("a path parameter and the rest as query", () => {
    const request = writeRequest(read, readPath, { thing_id: "a-1", since: "x y&z", limit: 5, flag: true });
    expect(request).toMatchObject({
      method: "GET",
      path: "/apis/v1/chirp/things/a-1",
      rawQuery: "since=x+y%26z&limit=5&flag=true",
    });
    expect(request.body).toHaveLength(0);
  });

  test("a body, without what belongs to path and query", () => {
    const request = writeRequest(write, write.path, { model: "vendor:model-1.5", mode: "fast", text: "hi" });
    expect(request).toMatchObject({ path: "/v1/models/vendor:model-1.5:run", rawQuery: "mode=fast" });
    expect(new TextDecoder().decode(request.body)).toBe('{"text":"hi"}');
    const { body } = writeRequest(write, write.path, { model: "m", text: "hi", about: {} });
    expect(new TextDecoder().decode(body)).toBe('{"text":"hi","about":{}}');
  });

  test("a parameter can name nothing but one segment of the path", () => {
    for (const [value, path] of [
      ["a/b", "/v1/models/a%2Fb:run"],
      ["a?b#c", "/v1/models/a%3Fb%23c:run"],
      ["%2e%2e", "/v1/models/%252e%252e:run"],
    ] as const) {
      expect(writeRequest(write, write.path, { model: value }).path).toBe(path);
    }
    for (const [value, why] of [
      ["..", "model: not a name"],
      [".", "model: not a name"],
      ["", "model is required, as a string"],
      [undefined, "model is required, as a string"],
      [5, "model is required, as a string"],
      [["a"], "model is required, as a string"],
    ] as const) {
      expect(() => writeRequest(write, write.path, { model: value })).toThrow(why);
    }
  });

  test("an address is as long as HTTP would bring it at most, escaped; a body may be longer", () => {
    const most = 15 * 1024 - "/apis/v1/chirp/things/asince=".length;
    const since = (text: string) => writeRequest(read, readPath, { thing_id: "a", since: text });
    expect(since("x".repeat(most)).rawQuery).toHaveLength(most + "since=".length);
    const refused = "too long for an address";
    expect(() => since("x".repeat(most + 1))).toThrow(refused);
    expect(() => since("é".repeat(most / 6 + 1))).toThrow(refused);
    const long = "x".repeat(20_000);
    expect(() => writeRequest(read, readPath, { thing_id: long, since: "x" })).toThrow(refused);
    expect(() => writeRequest(write, write.path, { model: "m", mode: long, text: "hi" })).toThrow(refused);
    expect(writeRequest(write, write.path, { model: "m", text: long }).body.length).toBeGreaterThan(20_000);
  });

  test("what no query can carry is refused, and nothing is made of nothing", () => {
    expect(() => writeRequest(read, readPath, { thing_id: "a", since: ["x"] })).toThrow("since");
    expect(writeRequest(read, readPath, { thing_id: "a", since: null, limit: undefined }).rawQuery).toBe("");
  });

  test.each([
    ["a path", { thing_id: "\ud800", since: "x" }, "thing_id"],
    ["a query", { thing_id: "a", since: "x\udc00" }, "since"],
    ["a name in a query", { thing_id: "a", since: "x", "\ud800": "\udc00" }, "\ud800"],
  ])(
    "half a character in %s is refused, because nothing but another one could be sent",
    (_, given, field) => {
      expect(() => writeRequest(read, readPath, given)).toThrow(`${field}: has half a character`);
    },
  );
});

test("a hundred thousand arguments take about as long as to read them", () => {
  const many = Object.fromEntries(Array.from({ length: 99_000 }, (_, at) => [`a${at}`, 0]));
  const leastMs = (run: () => unknown): number => {
    const tries = Array.from({ length: 5 }, () => {
      const startedMs = performance.now();
      run();
      return performance.now() - startedMs;
    });
    return Math.min(...tries);
  };
  const readMs = leastMs(() => JSON.parse(JSON.stringify(many)) as unknown);
  const writeMs = leastMs(() => writeRequest(write, write.path, { model: "m", ...many }));
  expect(writeMs).toBeLessThan(8 * readMs + 20);
});

describe("the schema of the arguments", () => {
  test("joins path, query and body, and says whether more may come", () => {
    expect(argumentsSchema(read, readPath)).toMatchObject({
      type: "object",
      required: ["thing_id", "since"],
      additionalProperties: true,
    });
    expect(argumentsSchema(write, write.path)).toMatchObject({
      properties: { model: { type: "string" }, mode: { type: "string" }, text: { type: "string" } },
      required: ["model", "text"],
      additionalProperties: false,
    });
  });

  test("names its parameters with their descriptions", () => {
    expect(parametersOf(read, readPath)).toContainEqual({ name: "since", description: "From when on." });
  });
});
