import { describe, expect, test } from "bun:test";
import type { Attempt, CallRecord } from "./call-record.ts";
import { receiptForCaller, receiptOf } from "./receipt.ts";

const attempt = (outcome: Attempt["outcome"], status: number | null): Attempt => ({
  upstream: "up",
  outcome,
  status,
  started_at_ms: 1,
  ended_at_ms: 2,
});

const settled: CallRecord = {
  id: "call-1",
  accountId: "account-1",
  keyId: "key-1",
  client: undefined,
  operationId: "chat.create",
  model: "m",
  state: "settled",
  outcome: "succeeded",
  heldMicros: 11_280n,
  valueMicros: 32_570n,
  chargedMicros: 11_280n,
  writtenOffMicros: 5_005n,
  multiplierPpm: 500_000n,
  priceVersion: "1",
  unitPricesPico: {},
  used: { input_tokens: 28, output_tokens: 3_250 },
  usageSource: "estimated",
  httpStatus: 200,
  attempts: [attempt("streaming", 200)],
  createdAtMs: 1,
  settledAtMs: 2,
};

const released: CallRecord = {
  ...settled,
  state: "released",
  outcome: "unknown",
  valueMicros: 0n,
  chargedMicros: 0n,
  writtenOffMicros: 0n,
  used: {},
  usageSource: "none",
};

const explained = (call: CallRecord): string => receiptOf(call).explanation;

describe("why held, value and charge differ is said in full, however a call ended", () => {
  const ends: readonly [what: string, call: CallRecord, opening: string][] = [
    ["that came whole", settled, "Held 11280"],
    [
      "that broke off",
      { ...settled, outcome: "failed", attempts: [attempt("broke_off", 200)] },
      "The provider's answer broke off or ended with an error; what had passed of it by then is paid for.",
    ],
    [
      "whose caller had stopped reading",
      { ...settled, outcome: "failed", attempts: [attempt("caller_stalled", 200)] },
      "The answer ended too early after the caller had stopped reading for a while;",
    ],
    [
      "whose caller left",
      { ...settled, attempts: [attempt("caller_left", 200)] },
      "The caller left before the end of the answer;",
    ],
    ["that the gateway did not see end", { ...settled, outcome: "unknown" }, "The gateway stopped while"],
    [
      "that the gateway cut off as it stopped",
      { ...settled, outcome: "failed", attempts: [attempt("gateway_stopped", 200)] },
      "The gateway stopped while this call was streaming; what it had delivered by then is paid for.",
    ],
    [
      "that was a task and was cancelled",
      { ...settled, outcome: "failed", used: { second_720p: 2 }, attempts: [attempt("answered", 200)] },
      "The task was cancelled; what had been made of it by then is paid for.",
    ],
  ];

  test.each(ends)("of a call %s", (_what, call, opening) => {
    const explanation = explained(call);
    expect(explanation).toStartWith(opening);
    expect(explanation).toContain(
      "Held 11280 micro-USD as the most it could cost; metered 32570 at list price; charged 11280.",
    );
    expect(explanation).toContain("The plan multiplies list prices by 0.5.");
    expect(explanation).toContain("The provider did not report all that was used; the rest was estimated.");
    expect(explanation).toContain("5005 micro-USD above the hold were written off, not charged.");
  });

  test("of a cancelled task that a plan makes free", () => {
    const call = { ...settled, outcome: "failed", used: { second_720p: 2 } } as const;
    const free = explained({ ...call, multiplierPpm: 0n, chargedMicros: 0n, writtenOffMicros: 0n });
    expect(free).toStartWith("The task was cancelled;");
    expect(free).toContain("The plan multiplies list prices by 0.");
  });
});

describe("a call that was released without anybody knowing how it ended", () => {
  test("got no answer where none came", () => {
    const silent = { ...released, httpStatus: undefined, attempts: [attempt("timeout", null)] };
    expect(explained(silent)).toStartWith("No answer came back, so it is not known");
  });

  test("was not waited for where the gateway stopped", () => {
    const cut = { ...released, httpStatus: undefined, attempts: [attempt("gateway_stopped", null)] };
    expect(explained(cut)).toStartWith("The gateway stopped before an answer had come, so it is not known");
  });

  test("was begun where its vendor took the task and never said how it ended", () => {
    const openEnded = { ...released, httpStatus: undefined, attempts: [attempt("answered", 200)] };
    expect(explained(openEnded)).toBe(
      "The provider took the task, or answered in a way that cannot be read, and never said how it ended. " +
        "Nothing was charged and the hold was released.",
    );
  });

  test("was answered where its end could not be booked", () => {
    expect(explained({ ...released, attempts: [attempt("answered", 200)] })).toBe(
      "The upstream answered, but the end of the call could not be booked, so the caller was not given the answer. " +
        "Nothing was charged and the hold was released.",
    );
  });
});

describe("that the operator's account at an upstream is out of credit", () => {
  const unpaid = attempt("key_rejected", 402);
  const failed: CallRecord = { ...released, outcome: "failed", httpStatus: 402, attempts: [unpaid] };
  const told = ({ http_status: status, attempts }: ReturnType<typeof receiptOf>) => [
    status,
    attempts.map((one) => one.status),
  ];

  test("is told to the operator, and not to the caller, who would take it for a word about their own balance", () => {
    expect(told(receiptOf(failed))).toEqual([402, [402]]);
    expect(told(receiptForCaller(failed))).toEqual([null, [null]]);
    const away = { ...failed, attempts: [attempt("unreachable", null), unpaid] };
    expect(told(receiptForCaller(away))).toEqual([null, [null, null]]);
    const served = { ...failed, outcome: "succeeded" as const, httpStatus: 200 };
    expect(told(receiptForCaller({ ...served, attempts: [unpaid, attempt("answered", 200)] }))).toEqual([
      200,
      [null, 200],
    ]);
  });

  test("hides nothing of what another upstream said", () => {
    const busy = { ...failed, httpStatus: 429, attempts: [attempt("rate_limited", 429), unpaid] };
    expect(told(receiptForCaller(busy))).toEqual([429, [429, null]]);
    const same = { ...failed, attempts: [unpaid, attempt("answered", 402)] };
    expect(told(receiptForCaller(same))).toEqual([402, [null, 402]]);
  });
});
