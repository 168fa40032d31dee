// What every store of sign-in records must do, alone and for many at once.

import { expect, test } from "bun:test";
import {
  middayMs,
  withBooks,
  type OpenStore,
  type TestBooks,
} from "../ledger/conformance/shared-conformance.ts";
import type { SignInRecord } from "./sign-in-records.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const audience = "https://gateway.example/mcp";

export function signInsConformance(openStore: OpenStore): void {
  const promise = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));
  const book = (books: TestBooks) => books.store().signIns;

  const record = (id: string, changed: Partial<SignInRecord> = {}): SignInRecord => ({
    kind: "RefreshToken",
    idHash: bytes(id),
    grantId: undefined,
    scope: undefined,
    audience: undefined,
    sealed: bytes(`sealed ${id}`),
    expiresAtMs: middayMs + 60_000,
    ...changed,
  });

  const openGrant = async (books: TestBooks) => {
    const caller = await books.openCaller();
    const grantId = books.newId("grant");
    await books.store().grants.create({
      id: grantId,
      accountId: caller.accountId,
      keyId: caller.keyId,
      clientId: "client",
      clientName: "Client",
      redirectHost: "client.example",
      scopes: ["tools:read"],
      spendPolicy: { perCallMicros: 1n, perDayMicros: 2n, expiresAtMs: middayMs + 50_000 },
      createdAtMs: middayMs,
    });
    return { ...caller, grantId };
  };

  const find = async (books: TestBooks, id: string, atMs = middayMs, kind = "RefreshToken") => {
    const found = await book(books).find(kind, bytes(id), atMs);
    return found && [Buffer.from(found.sealed).toString(), found.consumedAtMs];
  };

  promise("a record is found by its kind and id until its time, as it was last written", async (books) => {
    expect(await book(books).put(record("a", { sealed: bytes("first") }), middayMs)).toBe(true);
    await book(books).consume("RefreshToken", bytes("a"), middayMs + 1);
    await book(books).put(record("a"), middayMs);
    expect(await find(books, "a", middayMs + 59_999)).toEqual(["sealed a", middayMs + 1]);
    expect(await find(books, "a", middayMs + 60_000)).toBeUndefined();
    expect(await find(books, "a", middayMs, "AccessToken")).toBeUndefined();
    await book(books).remove("RefreshToken", bytes("a"));
    expect(await find(books, "a")).toBeUndefined();
  });

  promise("a record lives longer when it is extended, and never shorter", async (books) => {
    await book(books).put(record("a"), middayMs);
    expect(await book(books).extend("RefreshToken", bytes("a"), middayMs + 90_000)).toBe(true);
    expect(await book(books).extend("RefreshToken", bytes("a"), middayMs + 1)).toBe(true);
    expect(await find(books, "a", middayMs + 89_999)).toBeDefined();
    expect(await find(books, "a", middayMs + 90_000)).toBeUndefined();
  });

  promise("a record that was removed is not brought back by extending it", async (books) => {
    await book(books).put(record("a"), middayMs);
    await book(books).remove("RefreshToken", bytes("a"));
    expect(await book(books).extend("RefreshToken", bytes("a"), middayMs + 90_000)).toBe(false);
    expect(await find(books, "a")).toBeUndefined();
  });

  promise("of many who use a record at once, one is the first, and its time stands", async (books) => {
    await book(books).put(record("a"), middayMs);
    const firsts = await Promise.all(
      Array.from({ length: 10 }, (_, at) => book(books).consume("RefreshToken", bytes("a"), middayMs + at)),
    );
    expect(firsts.filter(Boolean)).toHaveLength(1);
    expect(await find(books, "a")).toEqual(["sealed a", middayMs + firsts.indexOf(true)]);
    expect(await book(books).consume("RefreshToken", bytes("nobody's"), middayMs)).toBe(false);
  });

  promise("an access token is its key's for one audience, and ends with its grant", async (books) => {
    const { grantId, keyId } = await openGrant(books);
    const token = { kind: "AccessToken", grantId, scope: "tools:read", audience };
    await book(books).put(record("a", token), middayMs);
    const credential = (at = audience, atMs = middayMs) =>
      books.store().tokens.findCredential(bytes("a"), at, atMs);
    expect(await credential()).toMatchObject({
      keyId,
      suspended: false,
      expiresAtMs: middayMs + 50_000,
      grant: { id: grantId, scopes: ["tools:read"], spendPolicy: { perDayMicros: 2n } },
    });
    expect(await credential("https://elsewhere.example")).toBeUndefined();
    expect(await credential(audience, middayMs + 60_000)).toBeUndefined();
    await books.store().grants.revoke(grantId, middayMs + 1);
    expect(await credential()).toBeUndefined();
    expect(await find(books, "a", middayMs, "AccessToken")).toBeUndefined();
    expect(await books.store().grants.revoke(grantId, middayMs + 2)).toMatchObject({
      revokedAtMs: middayMs + 1,
    });
  });

  promise("of many grants with one id the first stands, also when it has ended", async (books) => {
    const { accountId, keyId } = await books.openCaller();
    const { grants } = books.store();
    const id = books.newId("grant");
    const create = (clientName: string): Promise<boolean> =>
      grants.create({
        id,
        accountId,
        keyId,
        clientId: "client",
        clientName,
        redirectHost: "client.example",
        scopes: ["tools:read"],
        spendPolicy: { perCallMicros: 1n, perDayMicros: 2n, expiresAtMs: middayMs + 50_000 },
        createdAtMs: middayMs,
      });
    const names = Array.from({ length: 10 }, (_, at) => `Client ${at}`);
    const written = await Promise.all(names.map(create));
    expect(written.filter(Boolean)).toHaveLength(1);
    const standing = { clientName: names[written.indexOf(true)] ?? "none" };
    expect(await grants.find(id)).toMatchObject(standing);
    await grants.revoke(id, middayMs + 1);
    expect(await create("Client 10")).toBe(false);
    expect(await grants.list(accountId)).toMatchObject([{ ...standing, revokedAtMs: middayMs + 1 }]);
  });

  promise("no record outlives its grant, however close to the revocation it is written", async (books) => {
    for (let round = 0; round < 10; round++) {
      const { grantId } = await openGrant(books);
      const ids = Array.from({ length: 10 }, (_, at) => `${round}.${at}`);
      const early = ids.slice(0, 5).map((id) => book(books).put(record(id, { grantId }), middayMs));
      const revoked = books.store().grants.revoke(grantId, middayMs);
      const late = ids.slice(5).map((id) => book(books).put(record(id, { grantId }), middayMs));
      await Promise.all([revoked, ...early, ...late]);
      const found = await Promise.all(ids.map((id) => find(books, id)));
      expect(found.filter((left) => left !== undefined)).toEqual([]);
      expect(await book(books).put(record("after", { grantId }), middayMs)).toBe(false);
    }
  });

  promise(
    "records past their time are swept by those who bring new ones, many at once too",
    async (books) => {
      for (let at = 0; at < 30; at++) await book(books).put(record(`old ${at}`), middayMs);
      const lateMs = middayMs + 60_000;
      const bring = (id: string) => book(books).put(record(id, { expiresAtMs: lateMs + 1 }), lateMs);
      await Promise.all(["a", "b", "c", "d", "e"].map(bring));
      const left = await Promise.all(Array.from({ length: 30 }, (_, at) => find(books, `old ${at}`)));
      expect(left.filter((found) => found !== undefined)).toEqual([]);
      expect(await find(books, "e", lateMs)).toBeDefined();
    },
  );

  promise("the oldest that nobody used give way, and none that is being used", async (books) => {
    const ids = Array.from({ length: 12 }, (_, at) => `c${at}`);
    for (const [at, id] of ids.entries()) {
      await book(books).put(record(id, { expiresAtMs: middayMs + 1_000 + at }), middayMs);
    }
    await book(books).consume("RefreshToken", bytes("c0"), middayMs);
    const [isFirst] = await Promise.all([
      book(books).consume("RefreshToken", bytes("c1"), middayMs),
      ...Array.from({ length: 4 }, () => book(books).keepUnused("RefreshToken", 3)),
    ]);
    await book(books).keepUnused("RefreshToken", 3);
    const found = await Promise.all(ids.map(async (id) => ((await find(books, id)) ? id : undefined)));
    expect(found.filter(Boolean)).toEqual(["c0", ...(isFirst ? ["c1"] : []), "c9", "c10", "c11"]);
  });
}
