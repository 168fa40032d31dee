import { describe, expect, test } from "bun:test";
import { buildCall, type CallOptions } from "./build-call.ts";
import { TollgateError } from "./errors.ts";
import { usualNames, type Arguments, type OperationFacts } from "./operation-facts.ts";

const get: OperationFacts = { method: "GET", path: "/v1/things/{id}", billed: true, keyed: false };
const post: OperationFacts = { method: "POST", path: "/v1/{model}:make", billed: true, keyed: true };

const build = (facts: OperationFacts, args: Arguments, options: CallOptions = {}, names = usualNames) =>
  buildCall(facts, args, { names, options, newKey: () => "made" });

describe("arguments", () => {
  test("of a GET go into its path and its query, escaped", () => {
    const { path, body } = build(get, {
      id: "a/b?c",
      q: "x y&z",
      list: ["1", 2],
      flag: true,
      none: undefined,
    });
    expect(path).toBe("/v1/things/a%2Fb%3Fc?q=x+y%26z&list=1&list=2&flag=true");
    expect(body).toBeUndefined();
  });

  test("of a GET that no address can say are refused, not sent as something else", () => {
    for (const q of [null, { city: "Oslo" }, [["a"]], new Date(0)]) {
      expect(() => build(get, { id: "1", q })).toThrow('"q" is part of the address and must be a text');
    }
    expect(build(get, { id: "1", q: [] }).path).toBe("/v1/things/1");
  });

  test("of a POST go into its path and its body", () => {
    const { path, body } = build(post, { model: "m", contents: [{ a: 1 }], none: undefined });
    expect(path).toBe("/v1/m:make");
    expect(body).toBe('{"contents":[{"a":1}]}');
  });

  test("of a POST that belong into its query go there, and all of them where it has no body", () => {
    const { path, body } = build(
      { ...post, inQuery: ["units"] },
      { model: "m", units: "metric", city: "Oslo" },
    );
    expect([path, body]).toEqual(["/v1/m:make?units=metric", '{"city":"Oslo"}']);
    const bodiless = build({ ...post, inQuery: "all" }, { model: "m", units: "metric" });
    expect([bodiless.path, bodiless.body]).toEqual(["/v1/m:make?units=metric", undefined]);
  });

  test("that cannot be said at all are refused as what they are", () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const args of [{ query: 1n }, { query: circle }]) {
      expect(() => build(post, { model: "m", ...args })).toThrow(TollgateError);
    }
    expect(() => build(get, { id: "\ud800" })).toThrow(TollgateError);
  });

  test("that the path needs must be there", () => {
    expect(() => build(get, {})).toThrow('"id" is part of the address');
    expect(() => build(get, { id: "" })).toThrow('"id" is part of the address');
  });

  test("cannot stand in for the operator's names, which may be other words", () => {
    const facts = { ...get, path: "/apis/{social_a}/x" };
    expect(build(facts, { social_a: "mine" }).path).toBe("/apis/social_a/x?social_a=mine");
    const names = { ...usualNames, social_a: "chirp", provider: "Acme" };
    expect(build(facts, {}, { maxPriceUsd: 1 }, names)).toMatchObject({
      path: "/apis/chirp/x",
      headers: { "x-Acme-max-price-usd": "1" },
    });
  });
});

test("a path's own parameter is never taken for a name, nor for a step to another path", () => {
  const own = { ...get, path: "/v1/data/{provider}/{toString}" };
  expect(build(own, { provider: "acme", toString: "x" }).path).toBe("/v1/data/acme/x");
  for (const step of [".", ".."]) expect(() => build(get, { id: step })).toThrow("cannot be");
});

describe("a key", () => {
  test("is made for every call that takes one, unless the caller brings it", () => {
    expect(build(post, { model: "m" }).idempotencyKey).toBe("made");
    expect(build({ ...post, billed: false }, { model: "m" }).idempotencyKey).toBe("made");
    expect(build(post, { model: "m" }, { idempotencyKey: "mine" }).idempotencyKey).toBe("mine");
  });

  test("is refused before it is sent where no header could carry it", () => {
    for (const idempotencyKey of ["", "two words", "order…7", "line\nbreak", "k".repeat(256)]) {
      expect(() => build(post, { model: "m" }, { idempotencyKey })).toThrow("1 to 255 visible ASCII");
    }
    const longest = "k".repeat(255);
    expect(build(post, { model: "m" }, { idempotencyKey: longest }).idempotencyKey).toBe(longest);
  });

  test("is refused where the gateway would not look at it", () => {
    expect(build(get, { id: "1" }).idempotencyKey).toBeUndefined();
    expect(() => build(get, { id: "1" }, { idempotencyKey: "mine" })).toThrow("takes no idempotency key");
  });
});

test("a cap is written as a plain decimal, however the number would print itself", () => {
  const capOf = (maxPriceUsd: string | number) =>
    build(get, { id: "1" }, { maxPriceUsd }).headers["x-Tollgate-max-price-usd"];
  expect(capOf("0.010")).toBe("0.010");
  expect(capOf(0.25)).toBe("0.25");
  expect(capOf(1e-7)).toBe("0.000000099999999999");
});

test("a cap that comes from arithmetic loses the digits that no cap has, and never grows by it", () => {
  const capOf = (maxPriceUsd: number) =>
    build(get, { id: "1" }, { maxPriceUsd }).headers["x-Tollgate-max-price-usd"];
  expect(capOf(0.01 / 3)).toBe("0.003333333333333333");
  expect(capOf(0.002 / 3)).toBe("0.000666666666666666");
  expect(capOf(0.1 + 0.2)).toBe("0.30000000000000004");
  expect(capOf(9.9999999999999e-7)).toBe("0.000000999999999999");
  expect(capOf(6e-13)).toBe("0.000000000000599999");
  expect(() => build(get, { id: "1" }, { maxPriceUsd: `0.${"3".repeat(19)}` })).toThrow("a decimal such as");
});

test("a cap that is no plain decimal is refused before anything is sent", () => {
  for (const maxPriceUsd of [
    "0,05 €",
    "0.05€",
    "",
    "1e-3",
    "-1",
    "0.05\n",
    ".5",
    Number.NaN,
    -1,
    Infinity,
    1e21,
  ]) {
    expect(() => build(get, { id: "1" }, { maxPriceUsd })).toThrow('a decimal such as "0.01"');
  }
});

test("a task is asked for as one, and what always streams is asked for as events", () => {
  const task = build({ ...post, startsTask: true }, { model: "m" });
  expect(task).toMatchObject({ headers: { "x-Tollgate-async": "enable" }, repeatsAnswer: true });
  const streaming = { ...post, streams: "always", inQuery: ["alt"] } as const;
  expect(build(streaming, { model: "m" }).path).toBe("/v1/m:make?alt=sse");
  expect(build(streaming, { model: "m", alt: "json" }).path).toBe("/v1/m:make?alt=json");
  expect(build({ ...post, streams: "always" }, { model: "m" }).path).toBe("/v1/m:make");
});
