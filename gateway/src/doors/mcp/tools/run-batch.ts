import { capMicrosFromNumber, type Micros } from "../../../platform/money.ts";
import { fairShare, jsonBytes } from "../calls/fit-result.ts";
import { resultBytesMax, shortenResult } from "../calls/read-answer.ts";
import { runOperation } from "../calls/run-operation.ts";
import type { ToolParts, Visit } from "../visit.ts";
import { keyUnder, type Once } from "./once-key.ts";
import { totalOf, type PlannedCall } from "./plan-batch.ts";
import type { BatchArguments, UseResult } from "./tool-shapes.ts";

/** What each call of a batch runs under. */
interface Under {
  readonly approvalId: string | undefined;
  readonly once: Once | undefined;
}

/** What became of each call of a batch; undefined for those whose turn did not come. */
export const runBatch = async (
  given: BatchArguments,
  planned: readonly PlannedCall[],
  under: Under,
  visit: Visit,
  parts: ToolParts,
): Promise<(UseResult | undefined)[]> => shareRoom(await runInOrder(given, planned, under, visit, parts));

async function runInOrder(
  given: BatchArguments,
  planned: readonly PlannedCall[],
  { approvalId, once }: Under,
  visit: Visit,
  parts: ToolParts,
): Promise<(UseResult | undefined)[]> {
  // Prices may change while the batch runs; even then no more than the total is spent.
  let leftMicros = totalOf(given);
  let stopped = false;
  const results: (UseResult | undefined)[] = [];
  for (const [index, { wanted, digest, isUncovered }] of planned.entries()) {
    // A caller who has left wants nothing more; what has run already stays booked.
    if (stopped || visit.ctx.mcpReq.signal.aborted) {
      results.push(undefined);
      continue;
    }
    const fits = wanted.capMicros <= leftMicros;
    const { told } = await runOperation(
      {
        ...wanted,
        capMicros: fits ? wanted.capMicros : leftMicros,
        claim: approvalId !== undefined && isUncovered ? { id: approvalId, digest } : undefined,
        ...(once && wanted.idempotencyKey === undefined ? keyUnder(once, index) : {}),
      },
      parts,
    );
    leftMicros -= exposureOf(told);
    results.push(told);
    stopped = given.stop_on_error === true && told.error !== undefined;
  }
  return results;
}

/** What a call took of the total: what it cost or, where that is not known yet, the most it can cost. */
function exposureOf({
  status,
  error,
  settled_micros_usd: settled,
  estimate_usd: most = 0,
}: UseResult): Micros {
  if (settled !== undefined) return BigInt(settled);
  return status === "accepted" || error?.charged === "unknown" ? capMicrosFromNumber(most) : 0n;
}

/** A batch is one message, and has the room of one: long results are shortened to what the short ones leave. */
function shareRoom(ran: readonly (UseResult | undefined)[]): (UseResult | undefined)[] {
  const sizes = ran.flatMap((told) => (told?.result ? [jsonBytes(told.result)] : []));
  const share = fairShare(sizes, resultBytesMax);
  return ran.map((told) => {
    if (!told?.result) return told;
    const result = shortenResult(told.result, share);
    return result === told.result ? told : { ...told, result, truncated: true };
  });
}
