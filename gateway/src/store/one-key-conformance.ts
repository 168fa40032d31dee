// An idempotency key is one request's of its account, whatever kind of request that is: whoever brings it again, for
// whatever, is told of the first.

import { describe, expect, test } from "bun:test";
import { idempotencyKeptMs } from "../ledger/idempotency-key.ts";
import {
  claimOf,
  middayMs,
  releaseOf,
  withBooks,
  type OpenStore,
  type TestBooks,
} from "../ledger/conformance/shared-conformance.ts";
import { attemptsPerKeyMax } from "../links/links.ts";
import { openApplicationsMax } from "../ledger/quota-applications.ts";
import { applicationKind, callKind, earlierIn, keyedKinds, linkKind } from "./test-keyed-requests.ts";

export function oneKeyConformance(openStore: OpenStore): void {
  const keyTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));
  const others = claimOf("k", "another request");

  describe.each(keyedKinds)("the idempotency key of $name", (first) => {
    keyTest("is told as taken to requests of every kind, also after a restart", async (books) => {
      const caller = await books.openCaller();
      const [beside, stranger] = [await books.openKey(caller), await books.openCaller()];
      expect(earlierIn(await first.ask(books, caller, { id: "first", claim: claimOf("k") }))).toBeUndefined();
      const expectTaken = async (as: object): Promise<void> => {
        for (const second of keyedKinds) {
          const answer = await second.ask(books, beside, { id: books.newId("second"), claim: others });
          expect(earlierIn(answer)).toEqual({ callId: "first", sameRequest: false, ...as } as never);
        }
        const found = await books.store().ledger.findEarlier(caller.accountId, others, middayMs);
        expect(found).toEqual({ callId: "first", sameRequest: false, ...as } as never);
      };
      // Only a call has a receipt, to which whoever repeats it can be led.
      const free = first === callKind ? {} : { unpaid: true };
      const done = { state: "settled", outcome: "succeeded", chargedMicros: 0n, ...free };
      await expectTaken(first === callKind ? { state: "held", outcome: undefined, chargedMicros: 0n } : done);
      await first.end(books, { id: "first", claim: others });
      const ended = first === callKind ? { ...done, chargedMicros: 70n } : done;
      await expectTaken(ended);
      await books.restart();
      await expectTaken(ended);
      const theirs = { id: "theirs", claim: claimOf("k") };
      expect(earlierIn(await first.ask(books, stranger, theirs))).toBeUndefined();
    });

    keyTest("is kept for a day from its end, and is free for every kind afterwards", async (books) => {
      for (const second of keyedKinds) {
        const caller = await books.openCaller();
        const [id, next] = [books.newId("first"), books.newId("next")];
        await first.ask(books, caller, { id, claim: claimOf("k") });
        const freeAtMs = (await first.end(books, { id, claim: others })) + idempotencyKeptMs;
        const early = await second.ask(books, caller, { id: next, claim: others, atMs: freeAtMs - 1 });
        expect(earlierIn(early)?.callId).toBe(id);
        const request = { id: next, claim: others, atMs: freeAtMs };
        expect(earlierIn(await second.ask(books, caller, request))).toBeUndefined();
        const again = { id: books.newId("again"), claim: claimOf("k"), atMs: freeAtMs };
        expect(earlierIn(await first.ask(books, caller, again))?.callId).toBe(next);
        await second.end(books, request);
      }
    });

    keyTest("is free sooner to whoever says for how long it is kept", async (books) => {
      const keptMs = 600_000;
      for (const second of keyedKinds) {
        const caller = await books.openCaller();
        const [id, next] = [books.newId("first"), books.newId("next")];
        const claim = { ...claimOf("k"), keptMs };
        await first.ask(books, caller, { id, claim });
        const freeAtMs = (await first.end(books, { id, claim })) + keptMs;
        for (const [asked, atMs] of [
          [claim, freeAtMs - 1],
          [claimOf("k"), freeAtMs],
        ] as const) {
          const taken = await second.ask(books, caller, { id: next, claim: asked, atMs });
          expect(earlierIn(taken)?.callId).toBe(id);
        }
        const request = { id: next, claim, atMs: freeAtMs };
        expect(earlierIn(await second.ask(books, caller, request))).toBeUndefined();
        const again = { id: books.newId("again"), claim, atMs: freeAtMs };
        expect(earlierIn(await first.ask(books, caller, again))?.callId).toBe(next);
        await second.end(books, request);
      }
    });
  });

  keyTest("of requests of all kinds that come at once with one key, one comes about", async (books) => {
    for (let round = 0; round < 5; round++) {
      const caller = await books.openCaller();
      const asked = Array.from({ length: 12 }, async (_, at) => {
        const kind = keyedKinds[(at + round) % keyedKinds.length] ?? callKind;
        const request = { id: `${round} ${at}`, claim: claimOf("k", kind.name) };
        return { id: request.id, earlier: earlierIn(await kind.ask(books, caller, request)) };
      });
      const answers = await Promise.all(asked);
      const came = answers.filter(({ earlier }) => earlier === undefined);
      expect(came).toHaveLength(1);
      const told = answers.flatMap(({ earlier }) => earlier?.callId ?? []);
      expect(told).toEqual(Array.from({ length: 11 }, () => came[0]?.id ?? ""));
      await books.release(came[0]?.id ?? "");
    }
  });

  keyTest("the key of a call that certainly never happened is free for every kind", async (books) => {
    for (const second of keyedKinds) {
      const caller = await books.openCaller();
      const callId = await books.held(caller, { idempotency: claimOf("k") });
      const freed = { accountId: caller.accountId, keyHash: claimOf("k").keyHash };
      await books.store().ledger.release({ ...releaseOf(callId), freed });
      const request = { id: books.newId("second"), claim: others };
      expect(earlierIn(await second.ask(books, caller, request))).toBeUndefined();
    }
  });

  keyTest("what is refused for another reason leaves its key to every kind", async (books) => {
    const poor = await books.openCaller({ creditMicros: 99n });
    const newRequest = () => ({ id: books.newId("asked"), claim: claimOf("k") });
    expect(await callKind.ask(books, poor, newRequest())).toMatchObject({ kind: "insufficient_balance" });
    expect(await linkKind.ask(books, poor, newRequest())).toEqual({ kind: "begun" });

    const linking = await books.openCaller();
    for (let at = 0; at < attemptsPerKeyMax; at++)
      await linkKind.ask(books, linking, { ...newRequest(), claim: claimOf(`link ${at}`) });
    expect(await linkKind.ask(books, linking, newRequest())).toMatchObject({ kind: "too_many_open" });
    expect(await applicationKind.ask(books, linking, newRequest())).toMatchObject({ kind: "filed" });

    const applying = await books.openCaller();
    for (let at = 0; at < openApplicationsMax; at++)
      await applicationKind.ask(books, applying, { ...newRequest(), claim: claimOf(`application ${at}`) });
    expect(await applicationKind.ask(books, applying, newRequest())).toEqual({ kind: "too_many_open" });
    expect(await callKind.ask(books, applying, newRequest())).toEqual({ kind: "held" });
  });
}
