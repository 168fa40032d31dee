import { z } from "zod";
import type { SalesConfig } from "../config/config.ts";
import type { Offer } from "../offer/offer.ts";
import { describeError, type Log } from "../platform/log.ts";
import { onceFor } from "../platform/once-for.ts";
import { sha256 } from "./create-contract.ts";
import type { Publication, PublicationBook } from "./publications.ts";
import { salesItems } from "./sales-items.ts";

/** Sales data and how far it can be trusted. */
interface SalesData {
  readonly freshness: "fresh" | "stale";
  /** When its source was last seen to say this. */
  readonly observedAtMs: number;
  /** What anybody may know of it. */
  readonly source: string;
  readonly items: readonly unknown[];
}

/** Where sales data comes from: the offer itself, or an address whose bytes must have a known hash. */
interface SalesSource {
  readonly offer: Pick<Offer, "operations">;
  readonly boundAtMs: number;
  readonly sales: SalesConfig | undefined;
}

interface Parts {
  readonly source: () => SalesSource;
  readonly book: PublicationBook;
  /** The bytes at an address, bounded in time and size; throws when there are none to be had. */
  readonly download: (url: string) => Promise<Uint8Array>;
  readonly wallMs: () => number;
  /** How often a source that could be verified is looked at again. */
  readonly refreshMs: number;
  readonly log: Log;
}

/** A source that was not up yet when we were is there soon; one that stays away is asked ever more slowly. */
const firstRetryMs = 1_000;

/** Answers from what was verified before; nobody who asks ever waits for the source. */
export interface SalesShelf {
  /** Undefined when there is no verified snapshot. */
  readonly read: () => SalesData | undefined;
  /** Has the configured source looked at now, in the background, and again and again. A failure makes what is there stale. */
  readonly refresh: () => void;
  /** Looks at it no more. */
  readonly stop: () => void;
}

interface Snapshot {
  readonly sha256: string;
  readonly url: string;
  readonly observedAtMs: number;
  readonly items: readonly unknown[];
}

export function createSalesShelf(parts: Parts): SalesShelf {
  const { source, book, download, wallMs, refreshMs, log } = parts;
  const itemsOf = onceFor(salesItems);
  let snapshot: Snapshot | undefined;
  let seen = false;
  let wanted = false;
  let running: Promise<void> | undefined;
  let next: Timer | undefined;
  let retryMs = firstRetryMs;
  let isStopped = false;

  const observe = async ({ url, sha256: expected }: SalesConfig): Promise<void> => {
    const bytes = await download(url);
    if (sha256(bytes) !== expected) throw new Error("The sales data does not have the configured hash.");
    const observedAtMs = wallMs();
    snapshot = { sha256: expected, url, observedAtMs, items: itemsIn(bytes) };
    seen = true;
    await keep({
      kind: "sales",
      contentHash: expected,
      revision: url,
      publishedAtMs: observedAtMs,
      bytes,
    });
  };

  /** For the next run of the program. What was verified now is so whether it could be kept or not. */
  const keep = async (publication: Publication): Promise<void> => {
    try {
      await book.keep(publication);
    } catch (error) {
      log.warn("the sales data could not be kept for later", describeError(error));
    }
  };

  /** What an earlier run of the program verified last. */
  const remember = async (): Promise<void> => {
    try {
      const kept = await book.latest("sales");
      if (!kept || sha256(kept.bytes) !== kept.contentHash) return;
      const { contentHash, revision: url, publishedAtMs: observedAtMs, bytes } = kept;
      snapshot = { sha256: contentHash, url, observedAtMs, items: itemsIn(bytes) };
    } catch (error) {
      log.warn("older sales data cannot be read", describeError(error));
    }
  };

  const look = async (configured: SalesConfig): Promise<void> => {
    // First, because the source may take its time: until it has been seen, what was verified before is there, stale.
    if (!snapshot) await remember();
    try {
      await observe(configured);
      retryMs = firstRetryMs;
    } catch (error) {
      seen = false;
      log.warn("the source of sales data cannot be verified", describeError(error));
    }
  };

  /** One look at a time; who asks meanwhile, perhaps about another source, gets one more after it. */
  const run = async (): Promise<void> => {
    clearTimeout(next);
    while (wanted) {
      wanted = false;
      const { sales: configured } = source();
      if (configured) await look(configured);
    }
    if (source().sales && !isStopped) next = setTimeout(want, pauseMs()).unref();
  };

  const pauseMs = (): number => {
    if (seen) return refreshMs;
    const pause = Math.min(retryMs, refreshMs);
    retryMs *= 2;
    return pause;
  };

  const want = (): void => {
    wanted = true;
    running ??= run().finally(() => (running = undefined));
  };

  return {
    read: () => {
      const { offer, boundAtMs, sales: configured } = source();
      if (!configured) {
        return { freshness: "fresh", observedAtMs: boundAtMs, source: "catalogue", items: itemsOf(offer) };
      }
      if (!snapshot) return undefined;
      const { observedAtMs, url, items } = snapshot;
      const isOfNow = snapshot.sha256 === configured.sha256 && url === configured.url;
      return { freshness: seen && isOfNow ? "fresh" : "stale", observedAtMs, source: shown(url), items };
    },
    refresh: () => {
      retryMs = firstRetryMs;
      want();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(next);
    },
  };
}

/** Anybody may read it: what lets the gateway in at the source, before the host or in the query, is not theirs. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

const list = z.array(z.looseObject({}));
const published = z.union([list, z.looseObject({ items: list })]);

/** The items of a list, or of an object that has one under `items`. */
function itemsIn(bytes: Uint8Array): readonly unknown[] {
  const data = published.parse(JSON.parse(new TextDecoder().decode(bytes)));
  return Array.isArray(data) ? data : data.items;
}
