import { expect, test } from "bun:test";
import { crc32, inflateSync } from "node:zlib";
import { at, createTestSandbox, startMs } from "../../test-sandbox.ts";

const path = "/openai/images/generations";
const ask = (body: object) => createTestSandbox().ask("POST", path, { body });

test("makes real pictures, the same every time, and bills tokens", async () => {
  const { ask: post, book } = createTestSandbox();
  const body = { model: "m", prompt: "a red cat", n: 2, size: "1536x1024", quality: "low" };
  const { json } = await post("POST", path, { body });
  expect(json).toMatchObject({
    created: startMs / 1000,
    usage: {
      input_tokens: 3,
      input_tokens_details: { text_tokens: 3, image_tokens: 0 },
      output_tokens: 800,
      total_tokens: 803,
    },
  });
  expect(book.read().entries[0]?.billed).toEqual({ input_tokens: 3, output_tokens: 800 });
  expect(at(json, "data", "length")).toBe(2);
  expect(at(json, "data", 0)).not.toEqual(at(json, "data", 1));
  expect((await ask(body)).json).toEqual(json);

  const png = Buffer.from(String(at(json, "data", 0, "b64_json")), "base64");
  expect(png.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([48, 32]);
  const length = png.readUInt32BE(33);
  const data = png.subarray(41, 41 + length);
  expect(png.readUInt32BE(41 + length)).toBe(crc32(png.subarray(37, 41 + length)));
  expect(inflateSync(data).length).toBe(32 * (1 + 48 * 3));
});

test("takes null where a member need not be there", async () => {
  for (const member of ["n", "size", "quality", "response_format", "stream"]) {
    const { status, json } = await ask({ model: "m", prompt: "a", [member]: null });
    expect([member, status, at(json, "data", "length")]).toEqual([member, 200, 1]);
  }
});

test.each([
  [{ prompt: "a" }, "model"],
  [{ model: "m" }, "prompt"],
  [{ model: "m", prompt: "a", n: 11 }, "n"],
  [{ model: "m", prompt: "a", size: "1x1" }, "size"],
  [{ model: "m", prompt: "a", quality: "best" }, "quality"],
  [{ model: "m", prompt: "a", response_format: "url" }, "response_format"],
])("refuses %j naming %p", async (body, param) => {
  expect(await ask(body)).toMatchObject({ status: 400, json: { error: { param } } });
});
