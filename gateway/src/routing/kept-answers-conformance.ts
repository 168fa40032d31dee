// What every store must know of the answers that vendors keep.

import { expect, test } from "bun:test";
import {
  middayMs,
  withBooks,
  type OpenStore,
  type TestBooks,
} from "../ledger/conformance/shared-conformance.ts";
import { hashKeptId, type FoundKept, type KeptAnswer } from "./kept-answers.ts";

const untilMs = middayMs + 60_000;

export function keptAnswersConformance(openStore: OpenStore): void {
  const promise = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  const keep = (
    books: TestBooks,
    ids: readonly string[],
    { atMs = middayMs, ...changed }: Partial<KeptAnswer> & { readonly atMs?: number } = {},
  ): Promise<void> => {
    const answer = { accountId: "one", upstream: "a", idHashes: ids.map(hashKeptId), untilMs, ...changed };
    return books.store().keptAnswers.keep(answer, atMs);
  };

  const find = (
    books: TestBooks,
    accountId: string,
    ids: readonly string[],
    atMs = middayMs,
  ): Promise<readonly (FoundKept | undefined)[]> =>
    books.store().keptAnswers.find(accountId, ids.map(hashKeptId), atMs);

  const at = (upstream: string): FoundKept => ({ isOwn: true, upstream });
  const others: FoundKept = { isOwn: false };

  promise(
    "an id is the account's that got it, another's to everybody else, and one nobody got nobody's",
    async (books) => {
      await keep(books, ["resp_1", "msg_1"]);
      expect(await find(books, "one", ["msg_1", "resp_2", "resp_1"])).toEqual([at("a"), undefined, at("a")]);
      expect(await find(books, "two", ["resp_2", "resp_1", "msg_1", "resp_1"])).toEqual([
        undefined,
        others,
        others,
        others,
      ]);
      expect(await find(books, "one", [])).toEqual([]);
    },
  );

  promise("an id that several accounts got is each one's own, where each got it last", async (books) => {
    await keep(books, ["msg_0", "msg_0"]);
    await keep(books, ["msg_0"], { accountId: "two", upstream: "b" });
    await keep(books, ["msg_0"], { upstream: "c" });
    expect(await find(books, "one", ["msg_0"])).toEqual([at("c")]);
    expect(await find(books, "two", ["msg_0"])).toEqual([at("b")]);
    expect(await find(books, "three", ["msg_0"])).toEqual([others]);
  });

  promise("all of it outlasts a restart", async (books) => {
    await keep(books, ["resp_1"]);
    await books.reopen();
    expect(await find(books, "one", ["resp_1"])).toEqual([at("a")]);
    expect(await find(books, "two", ["resp_1"])).toEqual([others]);
  });

  promise("nothing is found past its time, which never becomes shorter", async (books) => {
    await keep(books, ["resp_1"]);
    await keep(books, ["resp_1"], { untilMs: untilMs - 1_000 });
    for (const account of ["one", "two"]) {
      expect((await find(books, account, ["resp_1"], untilMs - 1))[0]).toBeDefined();
      expect(await find(books, account, ["resp_1"], untilMs)).toEqual([undefined]);
    }
  });

  promise("what is past its time is forgotten as new ones come, and nothing else is", async (books) => {
    const many = Array.from({ length: 20 }, (_, at) => `old_${at}`);
    await keep(books, many);
    await keep(books, ["young"], { untilMs: untilMs + 60_000 });
    const later = { atMs: untilMs, untilMs: untilMs + 60_000 };
    for (const id of ["new_1", "new_2", "new_3"]) await keep(books, [id], later);
    // Asked as of before their end, so that only those are missing that are there no more.
    expect((await find(books, "one", many)).filter(Boolean)).toEqual([]);
    expect(await find(books, "one", ["young", "new_1", "new_3"])).toEqual([at("a"), at("a"), at("a")]);
  });
}
