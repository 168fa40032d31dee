import { describe, expect, test } from "bun:test";
import type { Exchanged } from "../operation/exchanged.ts";
import { mayRepeat, moreTelling } from "./may-repeat.ts";

const answered = (status: number, hiddenFailure?: number | "malformed"): Exchanged => ({
  kind: "answered",
  status,
  contentType: undefined,
  body: "",
  answer: { status, json: undefined },
  tokens: undefined,
  retryAfterSeconds: undefined,
  hiddenFailure,
});
const unreachable: Exchanged = { kind: "no_answer", reason: "unreachable", sent: false };
const timedOut: Exchanged = { kind: "no_answer", reason: "timeout", sent: true };
const cutOff: Exchanged = { kind: "no_answer", reason: "cut_off", sent: true };
const busy: Exchanged = { kind: "rate_limited", status: 429, retryAfterSeconds: 3 };
const keyRejected: Exchanged = { kind: "key_rejected", status: 401 };

describe("another upstream is asked", () => {
  const vendor = { sandbox: false };
  const repeatable = {};
  const once = { repeatable: false } as const;

  test.each([
    ["was never sent", unreachable],
    ["met a refused key", keyRejected],
  ])("for any operation when the call %s", (_, exchanged) => {
    expect(mayRepeat(exchanged, vendor, repeatable)).toBe(true);
    expect(mayRepeat(exchanged, vendor, once)).toBe(true);
    expect(mayRepeat(exchanged, { sandbox: true }, repeatable)).toBe(false);
  });

  test.each([
    ["a busy upstream", busy],
    ["an error of the vendor's", answered(503)],
    ["an error inside a success", answered(200, 429)],
  ])("for a repeatable operation alone after %s", (_, exchanged) => {
    expect(mayRepeat(exchanged, vendor, repeatable)).toBe(true);
    expect(mayRepeat(exchanged, vendor, once)).toBe(false);
  });

  test.each([
    ["a stop of the gateway", { kind: "no_answer", reason: "gateway_stopped", sent: false } as const],
    ["a timeout", timedOut],
    ["a cut connection", cutOff],
    ["a 504", answered(504)],
    ["an answer that nobody could read", answered(200, "malformed")],
    ["a success", answered(200)],
    ["a refusal of the call", answered(400)],
  ])("never after %s", (_, exchanged) => {
    expect(mayRepeat(exchanged, vendor, repeatable)).toBe(false);
  });
});

test("the caller is told of the attempt that may have done something, then of a busy one, then of the later", () => {
  const told = (earlier: Exchanged, later: Exchanged): Exchanged =>
    moreTelling({ exchanged: earlier }, { exchanged: later }).exchanged;
  expect(told(answered(503), busy)).toMatchObject({ status: 503 });
  expect(told(busy, timedOut)).toBe(timedOut);
  expect(told(busy, unreachable)).toBe(busy);
  expect(told(keyRejected, busy)).toBe(busy);
  expect(told(keyRejected, unreachable)).toBe(unreachable);
  expect(told(unreachable, keyRejected)).toBe(keyRejected);
});
