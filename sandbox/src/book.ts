// The vendors' own book of what they served, for tests that compare it with the gateway's ledger.

import type { Billed } from "./vendor.ts";

interface BookEntry {
  readonly n: number;
  readonly at_ms: number;
  readonly vendor: string;
  readonly method: string;
  readonly path: string;
  /** As it came, with its `?`; empty without one. Proves that parameters are forwarded untouched. */
  readonly query: string;
  readonly request_id: string | null;
  /** Null until answered (a stream: until its end), and for ever when the vendor never answers. */
  readonly status: number | null;
  readonly billed: Billed | null;
  /** Names only: a book must not become a place where keys are kept. */
  readonly headers_seen: readonly string[];
  /** How far a stream came; what comes after was neither sent nor billed. */
  readonly events_sent?: number;
  /** The caller left before the end of the stream. */
  readonly aborted?: true;
}

interface Arrival {
  readonly atMs: number;
  readonly vendor: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
}

export interface Outcome {
  readonly status: number;
  readonly billed: Billed | null;
  readonly events_sent?: number;
  readonly aborted?: true;
}

/**
 * Invariants: a call is in the book from its arrival, answered or not; entries are in order of arrival;
 * `count` counts every arrival since the last clear, kept or not.
 */
export interface Book {
  /** The returned function fills in the outcome. */
  readonly arrive: (arrival: Arrival) => (outcome: Outcome) => void;
  readonly read: (filter?: { vendor?: string }) => {
    readonly entries: readonly BookEntry[];
    readonly count: number;
  };
  readonly clear: () => void;
}

// About 250 MB when full: a day of load tests, on a machine that runs load tests.
const entriesMaxDefault = 1_000_000;

export function createBook({ entriesMax = entriesMaxDefault }: { entriesMax?: number } = {}): Book {
  // A ring: the slot of entry n is n modulo the size.
  let slots: BookEntry[] = [];
  let count = 0;
  let countByVendor = new Map<string, number>();
  const namesOf = createHeaderNames();

  return {
    arrive({ atMs, vendor, method, path, query, headers }) {
      count += 1;
      countByVendor.set(vendor, (countByVendor.get(vendor) ?? 0) + 1);
      const arrived: BookEntry = {
        n: count,
        at_ms: atMs,
        vendor,
        method,
        path,
        query,
        request_id: headers.get("x-request-id"),
        status: null,
        billed: null,
        headers_seen: namesOf(headers),
      };
      const slot = count % entriesMax;
      slots[slot] = arrived;

      return ({ status, billed, ...streamed }) => {
        // Cleared or overwritten in the meantime: the entry is no longer ours to fill in.
        if (slots[slot] === arrived) slots[slot] = { ...arrived, status, billed, ...streamed };
      };
    },

    read({ vendor } = {}) {
      const all = slots.filter((entry) => vendor === undefined || entry.vendor === vendor);
      return {
        entries: all.sort((a, b) => a.n - b.n),
        count: vendor === undefined ? count : (countByVendor.get(vendor) ?? 0),
      };
    },

    clear() {
      slots = [];
      count = 0;
      countByVendor = new Map();
    },
  };
}

/** One gateway sends the same few lists of names a million times: keep each list once. */
function createHeaderNames(): (headers: Headers) => readonly string[] {
  const lists = new Map<string, readonly string[]>();
  const listsMax = 1000;

  return (headers) => {
    const names = [...headers.keys()].sort();
    const key = names.join(" ");
    const known = lists.get(key);
    if (known !== undefined) return known;
    if (lists.size < listsMax) lists.set(key, names);
    return names;
  };
}
