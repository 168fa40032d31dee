import { expect, test } from "bun:test";
import { at, createTestSandbox } from "../../test-sandbox.ts";

const path = "/openai/embeddings";
async function vectorsOf(body: object): Promise<number[][]> {
  const { json } = await createTestSandbox().ask("POST", path, { body: { model: "m", ...body } });
  return (at(json, "data") as unknown[]).map((item) => at(item, "embedding") as number[]);
}
const dot = (a: number[] = [], b: number[] = []) => a.reduce((sum, each, i) => sum + each * (b[i] ?? 0), 0);

test("vectors have length one, the same every time, and nearer where words are shared", async () => {
  const input = ["the cat sat", "the cat slept", "steel prices rose"];
  const [first, second, third] = await vectorsOf({ input });
  expect(first).toHaveLength(1536);
  expect(dot(first, first)).toBeCloseTo(1, 5);
  expect(dot(first, second)).toBeGreaterThan(dot(first, third) + 0.2);
  expect(await vectorsOf({ input: input[0] ?? "" })).toEqual([first ?? []]);
});

test("a model has the length of its vectors, and shortens them only", async () => {
  for (const [model, length] of [
    ["text-embedding-3-large", 3072],
    ["text-embedding-3-small", 1536],
  ] as const) {
    expect((await vectorsOf({ model, input: "hello" }))[0]).toHaveLength(length);
    expect((await vectorsOf({ model, input: "hello", dimensions: length }))[0]).toHaveLength(length);
    const body = { model, input: "hello", dimensions: length + 1 };
    expect(await createTestSandbox().ask("POST", path, { body })).toMatchObject({
      status: 400,
      json: { error: { param: "dimensions" } },
    });
  }
});

test("dimensions and base64 are obeyed, and say the same", async () => {
  const [floats] = await vectorsOf({ input: "hello", dimensions: 8 });
  const { json } = await createTestSandbox().ask("POST", path, {
    body: { model: "m", input: "hello", dimensions: 8, encoding_format: "base64" },
  });
  const bytes = Buffer.from(String(at(json, "data", 0, "embedding")), "base64");
  expect(Array.from({ length: 8 }, (_, i) => bytes.readFloatLE(i * 4))).toEqual(floats ?? []);
});

test.each([
  ["The cat sat.", 1, 4],
  [["The cat sat.", "Hi"], 2, 5],
  [[1, 2, 3], 1, 3],
  [[[1, 2], [3]], 2, 3],
])("input %j gives %d vectors for %d tokens", async (input, vectors, tokens) => {
  const { ask, book } = createTestSandbox();
  const { json } = await ask("POST", path, { body: { model: "m", input } });
  expect(at(json, "data", "length")).toBe(vectors);
  expect(at(json, "usage")).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
  expect(book.read().entries[0]?.billed).toEqual({ input_tokens: tokens });
});

test.each([
  [{ input: "a" }, "model"],
  [{ model: "m" }, "input"],
  [{ model: "m", input: "" }, "input"],
  [{ model: "m", input: ["a", ""] }, "input"],
  [{ model: "m", input: ["a", 1] }, "input"],
  [{ model: "m", input: [] }, "input"],
  [{ model: "m", input: "a", dimensions: 0 }, "dimensions"],
  [{ model: "m", input: "a", encoding_format: "hex" }, "encoding_format"],
])("refuses %j naming %p", async (body, param) => {
  expect(await createTestSandbox().ask("POST", path, { body })).toMatchObject({
    status: 400,
    json: { error: { param } },
  });
});
