import { expect, test } from "bun:test";
import { sha256 } from "./create-contract.ts";
import { publicationsMax, type Publication, type PublicationBook } from "./publications.ts";

/** What every book of publications must do, whatever keeps it. */
export function publicationsConformance(open: () => Promise<PublicationBook>): void {
  const publication = (text: string, publishedAtMs: number): Publication => {
    const bytes = Buffer.from(text);
    return { kind: "contract", contentHash: sha256(bytes), revision: "r1", publishedAtMs, bytes };
  };

  test("what is published is found by its hash, byte for byte, and only as what it is", async () => {
    const book = await open();
    const one = publication("one", 1_000);
    await book.keep(one);
    const found = await book.find("contract", one.contentHash);
    expect(found && { ...found, bytes: Buffer.from(found.bytes) }).toEqual({
      ...one,
      bytes: Buffer.from("one"),
    });
    expect(await book.find("sales", one.contentHash)).toBeUndefined();
    expect(await book.find("contract", sha256("other"))).toBeUndefined();
  });

  test("the latest is the one that was current last, also when it returned", async () => {
    const book = await open();
    const [one, two] = [publication("one", 1_000), publication("two", 2_000)];
    await book.keep(one);
    await book.keep(two);
    expect((await book.latest("contract"))?.contentHash).toBe(two.contentHash);
    await book.keep({ ...one, publishedAtMs: 3_000 });
    expect((await book.latest("contract"))?.contentHash).toBe(one.contentHash);
    expect((await book.list("contract", 10)).map(({ publishedAtMs }) => publishedAtMs)).toEqual([
      3_000, 2_000,
    ]);
    expect(await book.latest("sales")).toBeUndefined();
  });

  test("publishing again mends what was kept wrongly", async () => {
    const book = await open();
    const right = publication("right", 1_000);
    await book.keep({ ...right, bytes: Buffer.from("wrong") });
    await book.keep({ ...right, publishedAtMs: 2_000 });
    expect(Buffer.from((await book.find("contract", right.contentHash))?.bytes ?? []).toString()).toBe(
      "right",
    );
  });

  test("only so many are kept, the newest", async () => {
    const book = await open();
    for (let at = 0; at < publicationsMax + 3; at++) await book.keep(publication(`${at}`, at));
    const listed = await book.list("contract", publicationsMax * 2);
    expect(listed.length).toBe(publicationsMax);
    expect(listed.at(-1)?.publishedAtMs).toBe(3);
  });
}
