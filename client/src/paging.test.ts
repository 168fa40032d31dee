import { expect, test } from "bun:test";
import { readPages } from "./paging.ts";

interface Page {
  readonly items: readonly number[];
  readonly next?: string | null;
}

async function read(pages: Readonly<Record<string, Page>>, wanted = Number.POSITIVE_INFINITY) {
  const asked: string[] = [];
  const items: number[] = [];
  const load = async (cursor = "first"): Promise<Page> => {
    asked.push(cursor);
    return pages[cursor] ?? { items: [] };
  };
  const by = { items: (page: Page) => page.items, next: (page: Page) => page.next };
  for await (const item of readPages(load, by)) {
    items.push(item);
    if (items.length === wanted) break;
  }
  return { asked, items };
}

test("every item of every page comes once, also past an empty page", async () => {
  const pages = {
    first: { items: [1, 2], next: "b" },
    b: { items: [], next: "c" },
    c: { items: [3], next: null },
  };
  expect(await read(pages)).toEqual({ asked: ["first", "b", "c"], items: [1, 2, 3] });
});

test("a page is asked for only when its items are wanted", async () => {
  const pages = { first: { items: [1, 2], next: "b" }, b: { items: [3, 4], next: "c" } };
  expect(await read(pages, 2)).toEqual({ asked: ["first"], items: [1, 2] });
  expect(await read(pages, 3)).toEqual({ asked: ["first", "b"], items: [1, 2, 3] });
});

test("nothing, null and an empty text end it", async () => {
  for (const end of [{}, { next: null }, { next: "" }]) {
    expect((await read({ first: { items: [1], ...end } })).asked).toEqual(["first"]);
  }
});

test("a cursor that was there before ends it, or it would go round for ever at a price", async () => {
  const pages = {
    first: { items: [1], next: "b" },
    b: { items: [2], next: "c" },
    c: { items: [3], next: "b" },
  };
  expect(await read(pages)).toEqual({ asked: ["first", "b", "c"], items: [1, 2, 3] });
});
