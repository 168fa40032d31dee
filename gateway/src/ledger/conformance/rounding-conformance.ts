// What every ledger must charge: to the micro what was used, over the lifetime of an account.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { valuePico } from "../../prices/terms.ts";
import { attoPerMicro } from "../../platform/money.ts";
import { propertyRuns, terms, withBooks, type OpenStore } from "./shared-conformance.ts";

export function roundingConformance(openStore: OpenStore): void {
  test("twenty calls of one token at 0.05 micro cost one micro together", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller();
      const charges: bigint[] = [];
      for (let call = 0; call < 20; call++) {
        const callId = await books.held(caller, { amountMicros: 1n });
        charges.push((await books.settle(callId, { input_tokens: 1 })).chargedMicros);
        if (call === 9) await books.restart();
      }
      expect(charges.reduce((sum, charge) => sum + charge, 0n)).toBe(1n);
      expect(charges.at(-1)).toBe(1n);
    }));

  test("what an account owes is exact over its lifetime, whatever the calls, the plan and their order", () =>
    withBooks(openStore, async (books) => {
      const used = fc.record({
        input_tokens: fc.nat({ max: 5_000 }),
        output_tokens: fc.nat({ max: 100 }),
        cache_read_tokens: fc.nat({ max: 1_000_000 }),
        cache_write_1h_tokens: fc.nat({ max: 3 }),
      });
      const multiplier = fc.constantFrom(1_000_000n, 1_450_000n, 333_333n, 1n, 0n);
      await fc.assert(
        fc.asyncProperty(fc.array(used, { maxLength: 12 }), multiplier, async (calls, multiplierPpm) => {
          const caller = await books.openCaller({ multiplierPpm });
          const other = await books.openCaller({ multiplierPpm });
          let exactAtto = 0n;
          let charged = 0n;
          let value = 0n;
          for (const one of calls) {
            const callId = await books.held(caller, { amountMicros: 60_000n });
            const callAtto = valuePico(one, terms) * multiplierPpm;
            // Another account's remainder must not leak into this one.
            await books.settle(await books.held(other, { amountMicros: 1n }), { input_tokens: 7 });
            const resolved = await books.settle(callId, one);
            const off = resolved.chargedMicros * attoPerMicro - callAtto;
            expect(off < attoPerMicro && off > -attoPerMicro).toBe(true);
            exactAtto += callAtto;
            charged += resolved.chargedMicros;
            value += resolved.valueMicros;
          }
          expect(charged).toBe(exactAtto / attoPerMicro);
          const exactValue = calls.reduce((sum, one) => sum + valuePico(one, terms), 0n);
          expect(value).toBe(exactValue / 1_000_000n);
        }),
        { numRuns: propertyRuns(20) },
      );
    }));
}
