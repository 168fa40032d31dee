// What grants promise about money, whatever the store. Every test ends with an audit.

import { describe, expect, test } from "bun:test";
import { middayMs, withBooks, type TestBooks, type Caller, type OpenStore } from "./shared-conformance.ts";

const dayMs = 24 * 60 * 60_000;

export function grantsConformance(kind: string, openStore: OpenStore): void {
  const promise = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  describe(`${kind}: the day of a grant`, () => {
    promise(
      "held and spent together never pass its bound, for any number of callers at once",
      async (books) => {
        const caller = await books.openCaller({ creditMicros: 10_000n });
        const grant = await openGrant(books, caller, 350n);
        const results = await Promise.all(Array.from({ length: 9 }, () => books.hold(caller, { grant })));
        expect(results.filter((result) => result.kind === "held")).toHaveLength(3);
        expect(results.filter((result) => result.kind !== "held")).toEqual(
          Array.from({ length: 6 }, () => ({
            kind: "grant_day_exceeded",
            perDayMicros: 350n,
            spentMicros: 0n,
            heldMicros: 300n,
          })),
        );
        expect(await books.balance(caller)).toEqual({ posted: 10_000n, held: 300n });
      },
    );

    promise("what a call did not use comes back to the day it was held in", async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const grant = await openGrant(books, caller, 100n);
      const first = await books.held(caller, { grant });
      await books.settle(first, { units: 30 }, { atMs: middayMs + dayMs });
      expect(await books.hold(caller, { grant, amountMicros: 71n })).toEqual({
        kind: "grant_day_exceeded",
        perDayMicros: 100n,
        spentMicros: 30n,
        heldMicros: 0n,
      });
      const second = await books.held(caller, { grant, amountMicros: 70n });
      await books.release(second);
      const start = Date.UTC(2026, 9, 20);
      expect(await books.store().grants.dayUse(grant.id, start)).toEqual({
        spentMicros: 30n,
        heldMicros: 0n,
      });
      await books.held(caller, { grant, atMs: middayMs + dayMs });
    });

    promise("a refusal takes nothing from the account, the key's budget or the day", async (books) => {
      const budget = { limitMicros: 1_000n, window: "day" } as const;
      const caller = await books.openCaller({ creditMicros: 10_000n, budget });
      const grant = await openGrant(books, caller, 50n);
      expect((await books.hold(caller, { grant })).kind).toBe("grant_day_exceeded");
      const uncovered = { grant, amountMicros: 40n, coveredMicros: 39n };
      expect(await books.hold(caller, uncovered)).toEqual({ kind: "approval_required", reason: "uncovered" });
      expect(await books.balance(caller)).toEqual({ posted: 10_000n, held: 0n });
      const start = Date.UTC(2026, 9, 20);
      expect(await books.store().grants.dayUse(grant.id, start)).toEqual({ spentMicros: 0n, heldMicros: 0n });
      expect(await books.store().keys.budgetUse(caller.keyId, "day", start)).toEqual({
        spentMicros: 0n,
        heldMicros: 0n,
      });
    });

    promise("a grant that was revoked or has expired holds nothing from that moment on", async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const revoked = await openGrant(books, caller, 1_000n);
      const running = await books.held(caller, { grant: revoked });
      await books.store().grants.revoke(revoked.id, middayMs);
      expect(await books.hold(caller, { grant: revoked })).toEqual({ kind: "grant_ended" });
      const expired = await openGrant(books, caller, 1_000n, middayMs);
      expect(await books.hold(caller, { grant: expired })).toEqual({ kind: "grant_ended" });
      // What was sent before is paid for all the same.
      expect(await books.settle(running, { units: 10 })).toMatchObject({ chargedMicros: 10n });
    });

    promise("a crash gives back what calls of a grant held", async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const grant = await openGrant(books, caller, 100n);
      await books.held(caller, { grant });
      await books.restart();
      await books.held(caller, { grant });
    });
  });
}

export async function openGrant(
  books: TestBooks,
  caller: Caller,
  perDayMicros: bigint,
  expiresAtMs = middayMs + 9 * dayMs,
) {
  const id = books.newId("grant");
  await books.store().grants.create({
    id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    clientId: "client",
    clientName: "Client",
    redirectHost: "client.example",
    scopes: ["tools:read", "tools:spend"],
    spendPolicy: { perCallMicros: 100n, perDayMicros, expiresAtMs },
    createdAtMs: middayMs,
  });
  return { id, perDayMicros };
}
