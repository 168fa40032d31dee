import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openShelfFile, type ShelfFile } from "./shelf-file.ts";
import { createShelf } from "./shelf.ts";
import { startMs } from "./test-sandbox.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandbox-shelf-"));
  path = join(folder, "sandbox.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const reopened = (nowMs = startMs): ShelfFile => openShelfFile(path, nowMs);

for (const kind of ["in memory", "in a file"]) {
  test(`a shelf ${kind} is bounded: the oldest things are forgotten first, and those whose time is over`, () => {
    const file = kind === "in a file" ? reopened() : undefined;
    const shelf = createShelf<string>({ name: "s", thingsMax: 3, file });
    const put = (id: string, nowMs: number) => shelf.put(id, id, { untilMs: nowMs + 1_000, nowMs });
    const known = (nowMs: number) => ["a", "b", "c", "d"].filter((id) => shelf.find(id, nowMs) !== undefined);
    for (const id of ["a", "b", "c"]) put(id, startMs);
    put("a", startMs);
    expect(known(startMs)).toEqual(["a", "b", "c"]);
    put("d", startMs + 1);
    expect(known(startMs + 1)).toEqual(["b", "c", "d"]);
    expect(known(startMs + 1_000)).toEqual(["d"]);
    put("e", startMs + 1_000);
    expect(shelf.all().map(([id]) => id)).toEqual(["d", "e"]);
    const again = createShelf<string>({ name: "s", thingsMax: 3, file: file && reopened() });
    expect(again.all().map(([id]) => id)).toEqual(file === undefined ? [] : ["d", "e"]);
  });
}

describe("a file of shelves", () => {
  test("gives each shelf its things back as they were last, in their order, and its secret", () => {
    const file = reopened();
    const times = { untilMs: startMs + 1_000, nowMs: startMs };
    const [mine, other] = ["mine", "other"].map((name) => createShelf<object>({ name, thingsMax: 9, file }));
    mine?.put("1", { first: true }, times);
    mine?.put("2", {}, times);
    mine?.put("1", { changed: true }, times);
    mine?.put("3", {}, times);
    mine?.remove("3");
    other?.put("1", { others: true }, times);

    const next = reopened();
    expect(next.secret).toBe(file.secret);
    expect(createShelf({ name: "mine", thingsMax: 9, file: next }).all()).toEqual([
      ["1", { changed: true }],
      ["2", {}],
    ]);
    expect(createShelf({ name: "other", thingsMax: 9, file: next }).all()).toEqual([["1", { others: true }]]);
  });

  test("forgets at the start what nobody may ask for any more", () => {
    const shelf = createShelf<null>({ name: "s", thingsMax: 9, file: reopened() });
    shelf.put("early", null, { untilMs: startMs + 1_000, nowMs: startMs });
    shelf.put("late", null, { untilMs: startMs + 1_001, nowMs: startMs });
    expect(
      reopened(startMs + 1_000)
        .load("s")
        .map(({ id }) => id),
    ).toEqual(["late"]);
  });

  test("is another's secret in another place, and for its owner's eyes only", () => {
    const usualMask = process.umask(0o022);
    const { secret } = reopened();
    expect(process.umask(usualMask)).toBe(0o022);
    expect(openShelfFile(join(folder, "other.db"), startMs).secret).not.toBe(secret);
    for (const name of readdirSync(folder)) {
      expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
  });

  test("of another layout is begun anew", () => {
    const file = reopened();
    file.put("s", { id: "1", thing: {}, untilMs: startMs + 1_000 });
    new Database(path).run("PRAGMA user_version = 99");
    const anew = reopened();
    expect(anew.load("s")).toEqual([]);
    expect(anew.secret).not.toBe(file.secret);
    expect(reopened().secret).toBe(anew.secret);
  });
});
