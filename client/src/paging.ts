/** How one page of an operation leads to the next. */
export interface Paging<Page, Item> {
  readonly items: (page: Page) => Iterable<Item>;
  /** Where the next page begins; nothing, or an empty text, after the last one. */
  readonly next: (page: Page) => string | null | undefined;
  /** The argument that takes it; `cursor` when not said. */
  readonly cursor?: string;
}

/** Every item of every page, one page at a time. `begunAt` is the cursor that the first page is asked for with, if any. */
export async function* readPages<Page, Item>(
  load: (cursor: string | undefined) => Promise<Page>,
  { items, next }: Paging<Page, Item>,
  begunAt?: unknown,
): AsyncGenerator<Item> {
  const seen = new Set<unknown>([typeof begunAt === "number" ? String(begunAt) : begunAt]);
  for (let cursor: string | undefined; ;) {
    const page = await load(cursor);
    yield* items(page);
    const following = next(page);
    if (following === undefined || following === null || following === "") return;
    // A vendor that hands out the same cursor twice would keep us going round for ever, at a price each time.
    if (seen.has(following)) return;
    seen.add(following);
    cursor = following;
  }
}
