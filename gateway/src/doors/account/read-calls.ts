import { seenBy } from "../../keys/seen-by.ts";
import type { Receipt } from "../../ledger/receipt.ts";
import type { ReceiptsWanted } from "../../operation/self-service.ts";
import type { Reader } from "./reader.ts";

export interface CallsShown {
  readonly calls: readonly Receipt[];
  /** Where older ones begin; undefined at the end of the list. */
  readonly older: string | undefined;
  /** False when the search stopped before the page was full: older calls may fit, too. */
  readonly complete: boolean;
}

const callsPerPage = 50;

/** The newest calls that the reader may see, from a place in the list or a moment on. */
export async function readCalls(
  { asker, selfService }: Reader,
  { before, madeBeforeMs, grantId }: Pick<ReceiptsWanted, "before" | "madeBeforeMs" | "grantId">,
): Promise<CallsShown> {
  const { data, next_cursor: next } = await selfService.receipts(asker, {
    limit: callsPerPage,
    before,
    madeBeforeMs,
    operationId: undefined,
    status: undefined,
    keyId: seenBy(asker).keyId,
    grantId,
  });
  const complete = next === null || data.length === callsPerPage;
  return { calls: data, older: next ?? undefined, complete };
}
