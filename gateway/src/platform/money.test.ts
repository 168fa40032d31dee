import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  attoPerMicro,
  capMicrosFromNumber,
  capMicrosFromUsd,
  microsFromUsd,
  microsRoundedUp,
  multiplierFromPpm,
  parseDecimal,
  picoFromUsd,
  picoFromUsdPerMillion,
  ppmFromMultiplier,
  usdFromMicros,
  usdFromPico,
} from "./money.ts";

const beyondFloats = [2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n];
const amount = fc.oneof(
  fc.bigInt(-(10n ** 15n), 10n ** 15n),
  fc.constantFrom(...beyondFloats, ...beyondFloats.map((one) => -one)),
);

describe("reading an amount", () => {
  test("what is written is what is read back, beyond what a float could hold", () => {
    fc.assert(
      fc.property(amount, (exact) => {
        expect(microsFromUsd(usdFromMicros(exact))).toBe(exact);
        expect(picoFromUsd(usdFromPico(exact))).toBe(exact);
        expect(ppmFromMultiplier(multiplierFromPpm(exact))).toBe(exact);
      }),
    );
  });

  test("zeros at either end change nothing", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 9n), fc.nat({ max: 4 }), (micros, zeros) => {
        const [whole = "", fraction = ""] = usdFromMicros(micros).split(".");
        const padded = `${"0".repeat(zeros)}${whole}.${fraction}${"0".repeat(zeros + 1)}`;
        expect(microsFromUsd(padded)).toBe(micros);
      }),
    );
  });

  for (const [text, micros] of [
    ["0", 0n],
    ["0.000001", 1n],
    ["0.048", 48_000n],
    ["-3", -3_000_000n],
    ["9007199254.740993", 9_007_199_254_740_993n],
    ["999999999999999", 999_999_999_999_999_000_000n],
  ] as const) {
    test(`"${text}" USD is ${micros} micros`, () => expect(microsFromUsd(text)).toBe(micros));
  }

  for (const text of [
    "0.0000001",
    "1.0000005",
    "1e3",
    "1E-6",
    "1e-7",
    "Infinity",
    "NaN",
    "",
    " 1",
    "1 ",
    "+1",
    ".5",
    "5.",
    "1,5",
    "1_000",
    "0x10",
    "--1",
    "1.2.3",
    "١",
    "1n",
    "1000000000000000",
    "1\n",
  ]) {
    test(`${JSON.stringify(text)} is not an amount in USD`, () =>
      expect(microsFromUsd(text)).toBeUndefined());
  }

  test("nothing is ever rounded while reading: too many places are refused, not cut", () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 999n), fc.integer({ min: 0, max: 12 }), (digits, places) => {
        const text = `1.${"0".repeat(places)}${String(digits).replace(/0+$/, "")}`;
        const written = text.length - 2;
        const read = parseDecimal(text, places);
        if (written > places) expect(read).toBeUndefined();
        else expect(read).toBeDefined();
      }),
    );
  });

  test("prices are read to the pico: per unit with 12 places, per million with 6", () => {
    expect(picoFromUsd("0.000000000001")).toBe(1n);
    expect(picoFromUsd("0.0000000000001")).toBeUndefined();
    expect(picoFromUsdPerMillion("0.05")).toBe(50_000n);
    expect(picoFromUsdPerMillion("0.0000001")).toBeUndefined();
  });
});

describe("rounding", () => {
  test("a caller's cap is rounded down and never negative", () => {
    expect(capMicrosFromUsd("0.0000019")).toBe(1n);
    expect(capMicrosFromUsd("0.000000999999999999")).toBe(0n);
    expect(capMicrosFromUsd("0.048")).toBe(48_000n);
    expect(capMicrosFromUsd("0")).toBe(0n);
    expect(capMicrosFromUsd("-0.01")).toBeUndefined();
    expect(capMicrosFromUsd("1e-2")).toBeUndefined();
  });

  test("a hold is rounded up to the next whole micro, and only then", () => {
    expect(microsRoundedUp(0n)).toBe(0n);
    expect(microsRoundedUp(1n)).toBe(1n);
    expect(microsRoundedUp(attoPerMicro)).toBe(1n);
    expect(microsRoundedUp(attoPerMicro + 1n)).toBe(2n);
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 30n), (atto) => {
        const spare = microsRoundedUp(atto) * attoPerMicro - atto;
        expect(spare >= 0n && spare < attoPerMicro).toBe(true);
      }),
    );
  });
});

test("a cap given as a number means what was written, rounded down to whole micros", () => {
  const written: readonly [number, bigint][] = [
    [0, 0n],
    [0.3, 300_000n],
    [0.1 + 0.2, 300_000n],
    [0.0000019, 1n],
    [1e-7, 0n],
    [5e-324, 0n],
    [1.0000009, 1_000_000n],
    [100_000, 100_000_000_000n],
    [1e21, 10n ** 27n],
  ];
  for (const [usd, micros] of written) expect([usd, capMicrosFromNumber(usd)]).toEqual([usd, micros]);
  for (const usd of [-1, NaN, Infinity]) expect(() => capMicrosFromNumber(usd)).toThrow("0 or more");
});
