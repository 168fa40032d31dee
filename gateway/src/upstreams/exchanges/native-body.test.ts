import { expect, test } from "bun:test";
import fc from "fast-check";
import { expectWithin } from "../../platform/test-within.ts";
import { nativeBody } from "./native-body.ts";

/** As the OpenAI adapter does: a limit where the caller gave none. */
function chatBody(raw: Uint8Array, body: object, limit: number | undefined): string | Uint8Array {
  const limited =
    "max_tokens" in body || ("max_completion_tokens" in body && body.max_completion_tokens !== null);
  return nativeBody(raw, body, limited || limit === undefined ? {} : { max_completion_tokens: limit });
}

function sent(written: string, limit: number | undefined): string {
  const raw = new TextEncoder().encode(written);
  const body = chatBody(raw, JSON.parse(written) as object, limit);
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

test("a body with a limit is the very bytes that came", () => {
  for (const written of ['{"max_tokens":1}', ' {"max_completion_tokens" : 7 , "a":[1,{"b":"}"}]}\n']) {
    const raw = new TextEncoder().encode(written);
    expect(chatBody(raw, JSON.parse(written) as object, 99)).toBe(raw);
  }
});

test("a limit is added last, or in the place where the caller wrote null", () => {
  expect(sent('{ "a":1, "b":"x,}" }', 99)).toBe('{"a":1,"b":"x,}","max_completion_tokens":99}');
  expect(sent('{"max_completion_tokens":null,"a":1}', 99)).toBe('{"max_completion_tokens":99,"a":1}');
  expect(sent("{}", 99)).toBe('{"max_completion_tokens":99}');
});

test("what a double cannot hold and what is escaped stay as written", () => {
  const members = '"seed":9007199254740993123,"x":1e400,"t":"\\ud800\\u0041\\"],","d":{"a":1,"a":2}';
  expect(sent(`{${members}}`, 9)).toBe(`{${members},"max_completion_tokens":9}`);
});

test("a member with a name of megabytes stays, and is found as fast as it is read", async () => {
  const member = `"${"n".repeat(8 * 1024 ** 2)}":1`;
  const found = await expectWithin(1_000, () => sent(`{${member}}`, 9));
  expect(found === `{${member},"max_completion_tokens":9}`).toBe(true);
});

test("members that are not for upstreams go, also when their names are escaped", () => {
  const written = '{"api\\u005fbase":"http://evil","m":{"api_base":"kept"},"proxy":["a","b"],"max_tokens":1}';
  expect(sent(written, 9)).toBe('{"m":{"api_base":"kept"},"max_tokens":1}');
  expect(sent('{"extra_headers":{},"base_url":1}', undefined)).toBe("{}");
});

test("whatever else the body holds, it says the same with the limit added", () => {
  const name = fc
    .string()
    .filter((text) => text !== "__proto__" && !/^(max_|api_|base_|extra_|endpoint|proxy|user_)/.test(text));
  fc.assert(
    fc.property(fc.dictionary(name, fc.jsonValue()), fc.nat(4), (body, indent) => {
      const written = JSON.stringify(body, undefined, indent);
      expect(JSON.parse(sent(written, 5))).toEqual({
        ...(JSON.parse(written) as object),
        max_completion_tokens: 5,
      });
    }),
  );
});
