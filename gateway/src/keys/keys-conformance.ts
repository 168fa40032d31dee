import { expect, test } from "bun:test";
import {
  middayMs,
  withBooks,
  type TestBooks,
  type Caller,
  type OpenStore,
} from "../ledger/shared-conformance.ts";

const hash = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What every key book must do. */
export function keysConformance(openStore: OpenStore): void {
  const keyTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  const findBy = (books: TestBooks, secret: string, atMs = middayMs) =>
    books.store().keys.findCredential(hash(secret), atMs);
  const rotate = (
    books: TestBooks,
    { keyId }: Caller,
    secret: string,
    nowMs: number,
    graceEndsAtMs: number,
  ) =>
    books
      .store()
      .keys.rotate({ keyId, secretHash: hash(secret), last4: secret.slice(-4), nowMs, graceEndsAtMs });

  keyTest("a secret's hash finds who calls and on which terms", async (books) => {
    const budget = { limitMicros: 5n, window: "month" } as const;
    const options = { multiplierPpm: 1_450_000n, tier: "growth", scope: "account", budget } as const;
    const { accountId, keyId } = await books.openCaller(options);
    expect(await findBy(books, keyId)).toMatchObject({
      keyId,
      accountId,
      scope: "account",
      tier: "growth",
      planMultiplierPpm: 1_450_000n,
      suspended: false,
      revoked: false,
      budget,
    });
    expect(await findBy(books, "another")).toBeUndefined();
  });

  keyTest("a change of the account shows at its keys", async (books) => {
    const { accountId, keyId } = await books.openCaller();
    await books
      .store()
      .accounts.update(accountId, { suspended: true, tier: "starter", planMultiplierPpm: 2n });
    const changed = await findBy(books, keyId);
    expect(changed).toMatchObject({ suspended: true, tier: "starter", planMultiplierPpm: 2n });
  });

  keyTest("no key is issued to an account nobody opened", async (books) => {
    const key = { id: "key_x", accountId: "acc_nobody", name: "n", scope: "key", last4: "last" } as const;
    const issued = await books.store().keys.issue({
      ...key,
      budget: undefined,
      expiresAtMs: undefined,
      secretHash: hash("x"),
      nowMs: middayMs,
    });
    expect(issued).toBeUndefined();
    expect(await books.store().keys.find("key_x")).toBeUndefined();
  });

  keyTest("after a rotation both secrets work until the grace ends, then only the new one", async (books) => {
    const caller = await books.openCaller();
    const graceEndsAtMs = middayMs + 60_000;
    const rotated = await rotate(books, caller, "second", middayMs, graceEndsAtMs);
    expect(rotated?.id).toBe(caller.keyId);
    for (const secret of [caller.keyId, "second"]) {
      expect((await findBy(books, secret, graceEndsAtMs - 1))?.keyId).toBe(caller.keyId);
    }
    expect(await findBy(books, caller.keyId, graceEndsAtMs)).toBeUndefined();
    expect((await findBy(books, "second", graceEndsAtMs))?.keyId).toBe(caller.keyId);
  });

  keyTest("a second rotation never lengthens the grace of the first", async (books) => {
    const caller = await books.openCaller();
    await rotate(books, caller, "second", middayMs + 1, middayMs + 10);
    const rotated = await rotate(books, caller, "third", middayMs + 2, middayMs + 1_000);
    expect(await findBy(books, caller.keyId, middayMs + 10)).toBeUndefined();
    expect((await findBy(books, "second", middayMs + 999))?.keyId).toBe(caller.keyId);
    expect(rotated?.secrets.map(({ last4 }) => last4)).toEqual(["hird", "cond", "last"]);
  });

  keyTest("revocation is for ever, and its moment is the first one", async (books) => {
    const caller = await books.openCaller();
    await books.store().keys.revoke(caller.keyId, middayMs + 1);
    const again = await books.store().keys.revoke(caller.keyId, middayMs + 2);
    expect(again?.revokedAtMs).toBe(middayMs + 1);
    expect(await rotate(books, caller, "second", middayMs, middayMs)).toBeUndefined();
    await books.reopen();
    expect(await findBy(books, caller.keyId)).toMatchObject({ revoked: true });
    expect(await books.store().keys.revoke("key_nobody", middayMs)).toBeUndefined();
  });

  keyTest("a change touches what it names; null takes a budget or an expiry away", async (books) => {
    const caller = await books.openCaller({ budget: { limitMicros: 5n, window: "day" } });
    const { keys } = books.store();
    const before = await keys.find(caller.keyId);
    expect(await keys.update(caller.keyId, {})).toEqual(before);
    const named = await keys.update(caller.keyId, {
      name: "new",
      expiresAtMs: middayMs + 5,
      scope: "account",
    });
    expect(named).toMatchObject({ name: "new", expiresAtMs: middayMs + 5, scope: "account" });
    expect(named?.budget).toEqual({ limitMicros: 5n, window: "day" });
    const bare = await keys.update(caller.keyId, { budget: null, expiresAtMs: null });
    expect([bare?.budget, bare?.expiresAtMs, bare?.name]).toEqual([undefined, undefined, "new"]);
    expect(await keys.update("key_nobody", { name: "n" })).toBeUndefined();
  });

  keyTest("keys are listed by account or all together, oldest first", async (books) => {
    const one = await books.openCaller();
    const two = await books.openKey(one);
    const other = await books.openCaller();
    const ids = async (accountId: string | undefined) =>
      (await books.store().keys.list(accountId)).map(({ id }) => id);
    expect(await ids(one.accountId)).toEqual([one.keyId, two.keyId]);
    expect(await ids(undefined)).toEqual([one.keyId, two.keyId, other.keyId]);
    expect(await ids("acc_nobody")).toEqual([]);
  });
}
