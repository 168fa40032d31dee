import { expect, test } from "bun:test";
import {
  middayMs,
  withBooks,
  type TestBooks,
  type Caller,
  type OpenStore,
} from "../ledger/conformance/shared-conformance.ts";
import { attemptsPerKeyMax, revokedPerKeyMax, type NewLink } from "./links.ts";
import { attemptLifeMs, attemptOf } from "./test-link-attempt.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What every book of links must do. */
export function linksConformance(openStore: OpenStore): void {
  const linkTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));
  const book = (books: TestBooks) => books.store().links;

  const linkOf = ({ accountId, keyId }: Caller, id: string, changed: Partial<NewLink> = {}): NewLink => ({
    id,
    accountId,
    keyId,
    upstream: "platform",
    user: { id: "1", username: "ada" },
    scopes: ["users.read"],
    tokens: {
      version: 1,
      salt: bytes("salt"),
      access: bytes("access"),
      refresh: bytes("refresh"),
      expiresAtMs: middayMs + 7_200_000,
    },
    createdAtMs: middayMs,
    undoHash: bytes(`undo ${id}`),
    undoUntilMs: middayMs + 3_600_000,
    ...changed,
  });

  linkTest("an attempt is taken once, by whoever of many comes first", async (books) => {
    await book(books).begin(attemptOf(await books.openCaller(), "s"));
    const taken = await Promise.all(
      Array.from({ length: 20 }, () => book(books).takeAttempt(bytes("s"), middayMs)),
    );
    expect(taken.filter(({ kind }) => kind === "taken")).toHaveLength(1);
    expect(taken.filter(({ kind }) => kind === "used")).toHaveLength(19);
    const later = middayMs + attemptLifeMs;
    for (const nowMs of [middayMs, later])
      expect(await book(books).findAttempt(bytes("s"), nowMs)).toEqual({ kind: "used" });
  });

  linkTest("an attempt has an end, and one nobody made is unknown", async (books) => {
    const caller = await books.openCaller();
    for (const state of ["at", "before"]) await book(books).begin(attemptOf(caller, state));
    const endMs = middayMs + attemptLifeMs;
    expect(await book(books).findAttempt(bytes("at"), endMs)).toEqual({ kind: "expired" });
    expect(await book(books).takeAttempt(bytes("at"), endMs)).toEqual({ kind: "expired" });
    expect(await book(books).findAttempt(bytes("before"), endMs - 1)).toMatchObject({ kind: "open" });
    expect(await book(books).takeAttempt(bytes("before"), endMs - 1)).toMatchObject({ kind: "taken" });
    expect(await book(books).findAttempt(bytes("never"), middayMs)).toEqual({ kind: "unknown" });
    expect(await book(books).takeAttempt(bytes("never"), middayMs)).toEqual({ kind: "unknown" });
  });

  linkTest("an attempt that was taken too late stays expired and is not to be had earlier", async (books) => {
    await book(books).begin(attemptOf(await books.openCaller(), "s"));
    const endMs = middayMs + attemptLifeMs;
    for (const nowMs of [endMs, endMs, middayMs]) {
      expect(await book(books).takeAttempt(bytes("s"), nowMs)).toEqual({ kind: "expired" });
      expect(await book(books).findAttempt(bytes("s"), nowMs)).toEqual({ kind: "expired" });
    }
  });

  linkTest("an attempt comes back as it was made, with the browser it was bound to", async (books) => {
    const made = attemptOf(await books.openCaller(), "s", { confirm: true });
    await book(books).begin(made);
    await book(books).bindBrowser(bytes("s"), bytes("first"));
    await book(books).bindBrowser(bytes("s"), bytes("browser"));
    const { id: _id, idempotency: _claim, ...kept } = made;
    const taken = await book(books).takeAttempt(bytes("s"), middayMs);
    const attempt = taken.kind === "taken" ? taken.attempt : undefined;
    expect(plain(attempt)).toEqual(plain({ ...kept, browserHash: bytes("browser") }));
  });

  linkTest(
    "an open attempt is never ended by another: one too many is refused until one ends",
    async (books) => {
      const caller = await books.openCaller();
      const other = await books.openKey(caller);
      const begin = (state: string, createdAtMs: number, whose = caller) =>
        book(books).begin(attemptOf(whose, state, { createdAtMs, expiresAtMs: createdAtMs + attemptLifeMs }));
      for (let at = 0; at < attemptsPerKeyMax; at++) {
        expect(await begin(`s${at}`, middayMs + at)).toEqual({ kind: "begun" });
      }
      const firstEndMs = middayMs + attemptLifeMs;
      const refused = { kind: "too_many_open", endsAtMs: firstEndMs } as const;
      expect(await begin("more", firstEndMs - 1)).toEqual(refused);
      expect(await book(books).findAttempt(bytes("more"), firstEndMs - 1)).toEqual({ kind: "unknown" });
      expect(await begin("theirs", firstEndMs - 1, other)).toEqual({ kind: "begun" });
      for (const state of ["s0", "s1", `s${attemptsPerKeyMax - 1}`]) {
        expect(await book(books).findAttempt(bytes(state), firstEndMs - 1)).toMatchObject({ kind: "open" });
      }
      // One that has been used, or whose time is over, makes room.
      await book(books).takeAttempt(bytes("s5"), firstEndMs - 1);
      expect(await begin("after use", firstEndMs - 1)).toEqual({ kind: "begun" });
      expect(await begin("again", firstEndMs - 1)).toEqual(refused);
      expect(await begin("after the end", firstEndMs)).toEqual({ kind: "begun" });
    },
  );

  linkTest("a key keeps a bounded number of attempts that have ended", async (books) => {
    const caller = await books.openCaller();
    for (let at = 0; at < attemptsPerKeyMax + 5; at++) {
      await book(books).begin(attemptOf(caller, `s${at}`, { createdAtMs: middayMs + at }));
      await book(books).takeAttempt(bytes(`s${at}`), middayMs + at);
    }
    await book(books).begin(attemptOf(caller, "last", { createdAtMs: middayMs + 100 }));
    const taken = (state: string) => book(books).takeAttempt(bytes(state), middayMs + 100);
    expect([await taken("s4"), await taken("s5")]).toEqual([{ kind: "unknown" }, { kind: "used" }]);
  });

  linkTest("an idempotency key outlives as many attempts as are made in its day", async (books) => {
    const caller = await books.openCaller();
    const idempotency = { keyHash: bytes("k"), fingerprint: bytes("r") };
    await book(books).begin(attemptOf(caller, "first", { idempotency }));
    for (let at = 0; at < attemptsPerKeyMax * 2; at++) {
      await book(books).begin(attemptOf(caller, `s${at}`, { createdAtMs: middayMs + at }));
      await book(books).takeAttempt(bytes(`s${at}`), middayMs + at);
    }
    expect(await book(books).begin(attemptOf(caller, "again", { idempotency }))).toMatchObject({
      kind: "idempotency_conflict",
      earlier: { callId: "attempt first" },
    });
  });

  linkTest("an idempotency key begins one attempt, and a later day is another", async (books) => {
    const caller = await books.openCaller();
    const claim = (request: string) => ({ keyHash: bytes("k"), fingerprint: bytes(request) });
    const begin = (state: string, request: string, createdAtMs = middayMs) =>
      book(books).begin(
        attemptOf(caller, state, {
          idempotency: claim(request),
          createdAtMs,
          expiresAtMs: createdAtMs + attemptLifeMs,
        }),
      );
    expect(await begin("a", "r")).toEqual({ kind: "begun" });
    expect(await begin("b", "r")).toMatchObject({
      kind: "idempotency_conflict",
      earlier: { callId: "attempt a", sameRequest: true },
    });
    expect(await begin("b", "another")).toMatchObject({ earlier: { sameRequest: false } });
    expect(await begin("b", "r", middayMs + 2 * 86_400_000)).toEqual({ kind: "begun" });
  });

  linkTest("an idempotency key is free after its day, however many wait to be forgotten", async (books) => {
    const caller = await books.openCaller();
    const begin = (at: number, createdAtMs: number) =>
      book(books).begin(
        attemptOf(caller, `s${at} at ${createdAtMs}`, {
          idempotency: { keyHash: bytes(`k${at}`), fingerprint: bytes("r") },
          createdAtMs,
          expiresAtMs: createdAtMs + attemptLifeMs,
        }),
      );
    for (let at = 0; at < 50; at++) {
      expect(await begin(at, middayMs + at)).toEqual({ kind: "begun" });
      await book(books).takeAttempt(bytes(`s${at} at ${middayMs + at}`), middayMs + at);
    }
    expect(await begin(49, middayMs + 2 * 86_400_000)).toEqual({ kind: "begun" });
  });

  linkTest("of many who begin with one idempotency key at once, one begins", async (books) => {
    const caller = await books.openCaller();
    const other = await books.openKey(caller);
    const idempotency = { keyHash: bytes("k"), fingerprint: bytes("r") };
    const begun = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        book(books).begin(attemptOf(at % 2 === 0 ? caller : other, `s${at}`, { idempotency })),
      ),
    );
    const first = begun.findIndex(({ kind }) => kind === "begun");
    const told = begun.map((result) =>
      result.kind === "idempotency_conflict" ? result.earlier.callId : result.kind,
    );
    expect(told.filter((callId) => callId === `attempt s${first}`)).toHaveLength(9);
  });

  linkTest("of many who begin at once with one key, no more are kept than it may have", async (books) => {
    const caller = await books.openCaller();
    const states = Array.from({ length: attemptsPerKeyMax + 10 }, (_, at) => `s${at}`);
    await Promise.all(states.map((state) => book(books).begin(attemptOf(caller, state))));
    const found = await Promise.all(states.map((state) => book(books).findAttempt(bytes(state), middayMs)));
    expect(found.filter(({ kind }) => kind === "open")).toHaveLength(attemptsPerKeyMax);
  });

  linkTest(
    "of many that are saved at once one lives, and each that made room is told once",
    async (books) => {
      const caller = await books.openCaller();
      const ids = Array.from({ length: 8 }, (_, at) => `l${at}`);
      const replaced = await Promise.all(ids.map((id) => book(books).save(linkOf(caller, id))));
      const live = await book(books).findLive(caller.keyId, "platform");
      expect(new Set([live?.id, ...replaced.map((link) => link?.id)])).toEqual(new Set([...ids, undefined]));
      const accesses = replaced.map((link) => link && Buffer.from(link.tokens.access).toString());
      expect(accesses.filter((access) => access === "access")).toHaveLength(7);
    },
  );

  linkTest("a key has one live link at an upstream: a new one takes the place of the old", async (books) => {
    const caller = await books.openCaller();
    expect(await book(books).save(linkOf(caller, "one"))).toBeUndefined();
    await book(books).save(linkOf(caller, "elsewhere", { upstream: "another" }));
    await book(books).save(linkOf(await books.openKey(caller), "theirs"));
    const replaced = await book(books).save(linkOf(caller, "two"));
    expect(replaced).toMatchObject({ id: "one", revokedAtMs: undefined });
    expect(Buffer.from(replaced?.tokens.access ?? [])).toEqual(Buffer.from("access"));
    expect(await book(books).findLive(caller.keyId, "platform")).toMatchObject({ id: "two" });
    expect(await book(books).find("one")).toMatchObject({ revokedAtMs: middayMs });
    expect((await book(books).list({ keyId: caller.keyId })).map(({ id }) => id)).toEqual([
      "two",
      "one",
      "elsewhere",
    ]);
    expect(await book(books).list({ accountId: caller.accountId })).toHaveLength(4);
    expect(await book(books).list({})).toHaveLength(4);
  });

  linkTest("a link comes back as it was saved, also after a restart", async (books) => {
    const saved = linkOf(await books.openCaller(), "one", { user: undefined });
    await book(books).save(saved);
    await books.restart();
    const { undoHash: _hash, undoUntilMs: _until, ...kept } = saved;
    const found = await book(books).find("one");
    expect(plain(found)).toEqual(plain({ ...kept, lapsedAtMs: undefined, revokedAtMs: undefined }));
    await book(books).setUser("one", { id: "2", username: "ben" });
    expect(await book(books).find("one")).toMatchObject({ user: { id: "2", username: "ben" } });
  });

  linkTest("tokens are replaced by whoever saw the version that is stored", async (books) => {
    await book(books).save(linkOf(await books.openCaller(), "one"));
    const next = (version: number, access: string) => ({
      version,
      salt: bytes("s"),
      access: bytes(access),
      refresh: undefined,
      expiresAtMs: undefined,
    });
    const given = ["a", "b", "c"];
    const replaced = await Promise.all(
      given.map((access) => book(books).replaceTokens("one", next(2, access), ["x"])),
    );
    expect(replaced.filter(Boolean)).toHaveLength(1);
    expect(await book(books).replaceTokens("one", next(4, "d"), ["x"])).toBe(false);
    const link = await book(books).find("one");
    expect([link?.tokens.version, Buffer.from(link?.tokens.access ?? []).toString(), link?.scopes]).toEqual([
      2,
      given[replaced.indexOf(true)],
      ["x"],
    ]);
  });

  linkTest("one renewal at a time, until it ends, its time is over or the version changes", async (books) => {
    await book(books).save(linkOf(await books.openCaller(), "one"));
    const claim = (nowMs: number, version = 1) =>
      book(books).claimRenewal({ linkId: "one", version, nowMs, untilMs: nowMs + 100 });
    expect((await Promise.all([claim(1), claim(1), claim(1)])).filter(Boolean)).toHaveLength(1);
    expect(await claim(100)).toBe(false);
    expect(await claim(101)).toBe(true);
    await book(books).endRenewal("one", 1);
    expect(await claim(102)).toBe(true);
    expect(await claim(300, 2)).toBe(false);
  });

  linkTest("a link lapses for the version that was refused, not for a newer one", async (books) => {
    await book(books).save(linkOf(await books.openCaller(), "one"));
    await book(books).lapse("one", 2, middayMs);
    expect(await book(books).find("one")).toMatchObject({ lapsedAtMs: undefined });
    await book(books).lapse("one", 1, middayMs + 1);
    await book(books).lapse("one", 1, middayMs + 2);
    expect(await book(books).find("one")).toMatchObject({ lapsedAtMs: middayMs + 1 });
  });

  linkTest(
    "a link that lapsed lives again with new tokens, and does not when it was revoked",
    async (books) => {
      const caller = await books.openCaller();
      await book(books).save(linkOf(caller, "one"));
      await book(books).lapse("one", 1, middayMs);
      expect(await book(books).replaceTokens("one", { ...linkTokens, version: 2 }, [])).toBe(true);
      expect(await book(books).find("one")).toMatchObject({ lapsedAtMs: undefined, tokens: { version: 2 } });
      await book(books).lapse("one", 2, middayMs + 1);
      await book(books).revoke("one", middayMs + 2);
      expect(await book(books).replaceTokens("one", { ...linkTokens, version: 3 }, [])).toBe(false);
      expect(await book(books).find("one")).toMatchObject({
        lapsedAtMs: middayMs + 1,
        tokens: { version: 2 },
      });
    },
  );

  linkTest("a link is revoked once, and nothing of its tokens stays", async (books) => {
    await book(books).save(linkOf(await books.openCaller(), "one"));
    const as = await book(books).revoke("one", middayMs + 1);
    expect(Buffer.from(as?.tokens.refresh ?? [])).toEqual(Buffer.from("refresh"));
    expect(await book(books).revoke("one", middayMs + 2)).toBeUndefined();
    expect(await book(books).undo(bytes("undo one"), middayMs + 2)).toBeUndefined();
    expect(await book(books).revoke("nobody's", middayMs)).toBeUndefined();
    const left = await book(books).find("one");
    expect(left).toMatchObject({ revokedAtMs: middayMs + 1 });
    expect([left?.tokens.access.byteLength, left?.tokens.refresh]).toEqual([0, undefined]);
    expect(await book(books).replaceTokens("one", { ...linkTokens, version: 2 }, [])).toBe(false);
  });

  linkTest("of many who end a link at once, one is given its tokens", async (books) => {
    const caller = await books.openCaller();
    const many = Array.from({ length: 4 });
    for (let round = 0; round < 5; round++) {
      const id = `l${round}`;
      await book(books).save(linkOf(caller, id));
      const ended = await Promise.all([
        ...many.map(() => book(books).revoke(id, middayMs)),
        ...many.map(() => book(books).undo(bytes(`undo ${id}`), middayMs)),
        book(books).save(linkOf(caller, `after ${id}`)),
      ]);
      expect(ended.filter((link) => link?.id === id)).toHaveLength(1);
    }
  });

  linkTest("whoever linked can undo it, once and for a while", async (books) => {
    const caller = await books.openCaller();
    await book(books).save(linkOf(caller, "one"));
    expect(await book(books).undo(bytes("undo another"), middayMs)).toBeUndefined();
    expect(await book(books).undo(bytes("undo one"), middayMs + 3_600_000)).toBeUndefined();
    expect(await book(books).undo(bytes("undo one"), middayMs + 3_599_999)).toMatchObject({ id: "one" });
    expect(await book(books).undo(bytes("undo one"), middayMs)).toBeUndefined();
    expect(await book(books).findLive(caller.keyId, "platform")).toBeUndefined();
  });

  linkTest("a key keeps a bounded number of links that ended", async (books) => {
    const caller = await books.openCaller();
    for (let at = 0; at < revokedPerKeyMax + 5; at++) {
      await book(books).save(linkOf(caller, `l${at}`, { createdAtMs: middayMs + at }));
    }
    expect(await book(books).list({ keyId: caller.keyId })).toHaveLength(revokedPerKeyMax + 1);
    expect(await book(books).find("l0")).toBeUndefined();
  });
}

const linkTokens = {
  version: 1,
  salt: bytes("salt"),
  access: bytes("access"),
  refresh: undefined,
  expiresAtMs: undefined,
};

/** Bytes as text, so that a store's own kind of byte list compares. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, function (this: Record<string, unknown>, name, member: unknown) {
      // A Buffer has been made an object by itself when it gets here.
      const given = this[name];
      return given instanceof Uint8Array ? Buffer.from(given).toString("hex") : member;
    }),
  );
