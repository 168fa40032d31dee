import type { Release } from "../../ledger/ledger.ts";
import type { Gate } from "../gate.ts";
import type { BookedCall } from "../priced-call.ts";
import { writeLater } from "./write-later.ts";

/**
 * Ends a call whose settlement could not be written, once the store can be written again. Its caller got no
 * answer, so it is released and not charged. Should the process die first, the next start does the same.
 */
export const endLater = (callId: string, tried: Tried, gate: Gate): void =>
  releaseLater({ callId, outcome: "unknown", ...tried }, gate);

/** The attempts of a call, and the status it ended with. Its receipt shows both, however late it is written. */
export type Tried = Pick<Release, "attempts" | "httpStatus">;

/** For a call that was not sent yet, or that ended in a bug. */
export const nothingTried: Tried = { attempts: [], httpStatus: undefined };

/** Ends a call for which no upstream did anything, and whose hold may be on disk. The caller was told that it may try again. */
export const takeBackLater = (booked: BookedCall, tried: Tried, gate: Gate): void =>
  releaseLater({ callId: booked.call.id, outcome: "failed", ...freedBy(booked), ...tried }, gate);

type Freed = Pick<Release, "freed" | "freedApprovalId">;

/** What a call takes once, and gives back when no upstream did anything: its idempotency key and a person's approval. */
export const freedBy = ({ call, caller, wishes: { claim } }: BookedCall): Freed => ({
  freed: claim && { accountId: caller.accountId, keyHash: claim.keyHash },
  freedApprovalId: call.approval?.claim?.id,
});

function releaseLater(ending: Pick<Release, "callId" | "outcome"> & Freed & Tried, gate: Gate): void {
  const { callId } = ending;
  writeLater(
    { what: "the end of a call", about: { request_id: callId } },
    async () => {
      const resolved = await gate.ledger.release({
        ...ending,
        abandonsTask: true,
        settledAtMs: gate.clock.wallMs(),
      });
      gate.log.warn("a call was released late", { request_id: callId, state: resolved.state });
    },
    gate,
  );
}
