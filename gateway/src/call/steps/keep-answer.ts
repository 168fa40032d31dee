import { answersKeptMs, hashKeptId, type KeptAnswer } from "../../routing/kept-answers.ts";
import type { Gate } from "../gate.ts";
import { writeLater } from "../later/write-later.ts";
import type { BookedCall } from "../priced-call.ts";
import type { Attempted } from "./forward.ts";

/**
 * Writes down whose an answer is that its vendor keeps, and who keeps it, so that its caller can go on with it and nobody
 * else. Undefined where nothing is kept, which is so for nearly every call. Never rejects: the answer is paid for, and given.
 */
export function keepAnswer(
  { call, caller }: BookedCall,
  { exchanged, upstream }: Attempted,
  gate: Gate,
): Promise<void> | undefined {
  const keptIds = keptIdsOf(exchanged);
  if (keptIds === undefined || keptIds.length === 0) return undefined;
  const nowMs = gate.clock.wallMs();
  const answer: KeptAnswer = {
    accountId: caller.accountId,
    upstream: upstream.name,
    idHashes: keptIds.map(hashKeptId),
    untilMs: nowMs + answersKeptMs,
  };
  const keep = (): Promise<void> => gate.keptAnswers.keep(answer, nowMs);
  return keep().catch((error: unknown) => {
    const what = "the owner of an answer that its vendor keeps";
    const about = { request_id: call.id };
    gate.storeNews.failed(`${what} could not be written`, error, about);
    writeLater({ what, about }, keep, gate);
  });
}

function keptIdsOf(exchanged: Attempted["exchanged"]): readonly string[] | undefined {
  if (exchanged.kind === "streaming") return exchanged.relay.keptIds();
  return exchanged.kind === "answered" ? exchanged.keptIds : undefined;
}
