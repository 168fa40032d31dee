import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createTerms, valuePico } from "../prices/terms.ts";
import { attoPerMicro, microsRoundedUp, picoPerMicro } from "../platform/money.ts";
import { chargeFor, type Carry } from "./charge.ts";
import { propertyRuns } from "./conformance/shared-conformance.ts";

const nothing: Carry = { chargeAtto: 0n, valuePico: 0n };
const plenty = 10n ** 30n;

const price = fc.oneof(
  fc.bigInt(0n, 3_000_000n),
  fc.constantFrom(1n, 50_000n, 999_999n, 1_000_000n, 48_000_000_000n),
);
const multiplier = fc.oneof(
  fc.bigInt(0n, 3_000_000n),
  fc.constantFrom(0n, 1n, 999_999n, 1_000_000n, 1_450_000n),
);
const quantity = fc.oneof(fc.nat({ max: 10_000 }), fc.constantFrom(1, 2 ** 31, 2 ** 40, 999_999_999_999));

describe("a charge", () => {
  test("of 1,000,000 one-token reranks at 50,000 pico is 50,000 micros in all", () => {
    let carry = nothing;
    let charged = 0n;
    let value = 0n;
    for (let call = 0; call < 1_000_000; call++) {
      const charge = chargeFor({ valuePico: 50_000n, multiplierPpm: 1_000_000n, heldMicros: 1n, carry });
      carry = charge.carry;
      charged += charge.chargedMicros;
      value += charge.valueMicros;
    }
    expect(charged).toBe(50_000n);
    expect(value).toBe(50_000n);
    expect(carry).toEqual(nothing);
  });

  test("is within a micro of exact each time, and exact to the last micro over a lifetime", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(quantity, price, multiplier), { maxLength: 60 }), (calls) => {
        let carry = nothing;
        let exactAtto = 0n;
        let exactPico = 0n;
        let charged = 0n;
        let value = 0n;
        for (const [count, unitPricePico, multiplierPpm] of calls) {
          const callPico = BigInt(count) * unitPricePico;
          const charge = chargeFor({ valuePico: callPico, multiplierPpm, heldMicros: plenty, carry });
          const off = charge.chargedMicros * attoPerMicro - callPico * multiplierPpm;
          expect(off > -attoPerMicro && off < attoPerMicro).toBe(true);
          exactAtto += callPico * multiplierPpm;
          exactPico += callPico;
          charged += charge.chargedMicros;
          value += charge.valueMicros;
          ({ carry } = charge);
          expect(carry.chargeAtto >= 0n && carry.chargeAtto < attoPerMicro).toBe(true);
          expect(carry.valuePico >= 0n && carry.valuePico < picoPerMicro).toBe(true);
        }
        expect(charged).toBe(exactAtto / attoPerMicro);
        expect(value).toBe(exactPico / picoPerMicro);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test("is no cheaper for being split into many calls, and no dearer", () => {
    fc.assert(
      fc.property(
        price,
        multiplier,
        fc.integer({ min: 1, max: 200 }),
        (unitPricePico, multiplierPpm, parts) => {
          const whole = chargeFor({
            valuePico: BigInt(parts) * unitPricePico,
            multiplierPpm,
            heldMicros: plenty,
            carry: nothing,
          });
          let carry = nothing;
          let split = 0n;
          for (let part = 0; part < parts; part++) {
            const charge = chargeFor({ valuePico: unitPricePico, multiplierPpm, heldMicros: plenty, carry });
            carry = charge.carry;
            split += charge.chargedMicros;
          }
          expect(split).toBe(whole.chargedMicros);
        },
      ),
      { numRuns: propertyRuns(200) },
    );
  });

  test("always fits the hold when no more was used than the hold was made for", () => {
    const terms = createTerms("test", undefined, { a: 50_000n, b: 600_001n });
    const used = fc.record({ a: fc.nat({ max: 100_000 }), b: fc.nat({ max: 1_000 }) });
    const carried = fc.record({
      chargeAtto: fc.bigInt(0n, attoPerMicro - 1n),
      valuePico: fc.bigInt(0n, picoPerMicro - 1n),
    });
    fc.assert(
      fc.property(used, used, multiplier, carried, (least, more, multiplierPpm, carry) => {
        const atMost = { a: least.a + more.a, b: least.b + more.b };
        const heldMicros = microsRoundedUp(valuePico(atMost, terms) * multiplierPpm);
        const charge = chargeFor({ valuePico: valuePico(least, terms), multiplierPpm, heldMicros, carry });
        expect(charge.writtenOffMicros).toBe(0n);
        expect(charge.chargedMicros <= heldMicros).toBe(true);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test("is never more than the hold: the rest is written off, and the value is told in full", () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 10n ** 24n),
        multiplier,
        fc.bigInt(0n, 10n ** 9n),
        (value, ppm, heldMicros) => {
          const charge = chargeFor({ valuePico: value, multiplierPpm: ppm, heldMicros, carry: nothing });
          expect(charge.chargedMicros >= 0n && charge.chargedMicros <= heldMicros).toBe(true);
          expect(charge.chargedMicros + charge.writtenOffMicros).toBe((value * ppm) / attoPerMicro);
          expect(charge.valueMicros).toBe(value / picoPerMicro);
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  test("of an explicit 0 is 0, and leaves the remainder where it was", () => {
    const carry = { chargeAtto: 999_999_999_999n, valuePico: 999_999n };
    const charge = chargeFor({ valuePico: 0n, multiplierPpm: 1_000_000n, heldMicros: 5n, carry });
    expect(charge).toEqual({ chargedMicros: 0n, valueMicros: 0n, writtenOffMicros: 0n, carry });
  });
});
