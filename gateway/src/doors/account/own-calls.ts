import type { Receipt } from "../../ledger/receipt.ts";
import type { Reader } from "./reader.ts";

export interface CallsShown {
  readonly calls: readonly Receipt[];
  /** Where older ones begin; undefined at the end of the list. */
  readonly older: string | undefined;
  /** False when the search stopped before the page was full: older calls may have come from this key, too. */
  readonly complete: boolean;
}

const callsPerPage = 50;

/**
 * A key's calls are found among its account's, and those may be millions. So many are looked at for a page, in bites after
 * which others are served; then the reader is told how far the search got, and goes on from there.
 */
const bites = [100, 500, 500, 500, 500] as const;

/** The newest calls that the reader may see, from a place in the list on. */
export async function readCalls({ asker, books }: Reader, from: string | undefined): Promise<CallsShown> {
  const list = (limit: number, before: string | undefined) =>
    books.receipts(asker, { limit, before, operationId: undefined, status: undefined, keyId: undefined });
  if (asker.scope === "account") {
    const { data, next_cursor: next } = await list(callsPerPage, from);
    return { calls: data, older: next ?? undefined, complete: true };
  }
  const own: Receipt[] = [];
  let before = from;
  for (const limit of bites) {
    const { data, next_cursor: next } = await list(limit, before);
    for (const call of data) {
      if (call.key_id === asker.keyId) own.push(call);
      if (own.length === callsPerPage) {
        const isLast = next === null && call === data.at(-1);
        return { calls: own, older: isLast ? undefined : call.request_id, complete: true };
      }
    }
    if (next === null) return { calls: own, older: undefined, complete: true };
    before = next;
  }
  return { calls: own, older: before, complete: false };
}
