import { keySlot, keyTokens, seenAt } from "../../limits/call-limits.ts";
import type { Want } from "../../limits/limiter.ts";
import { limitsOfCaller } from "../../offer/limits-of-caller.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import { allTokens } from "../../prices/quantities.ts";
import { checkEarlier } from "../refusals/check-earlier.ts";
import type { Gate } from "../gate.ts";
import type { PaidCall } from "../paid-call.ts";
import type { Candidates } from "../candidates.ts";
import type { PricedCall } from "./price-call.ts";
import { refuseByLimit } from "../refusals/refuse-by-limit.ts";
import { refusePaused } from "../refusals/refuse-paused.ts";
import { Share } from "../limits/share.ts";
import { checkMaySpend } from "./check-may-spend.ts";
import { giveTurnBack, takeTurn, type TakenTurn, type Turn } from "./take-turn.ts";

/** What a call took: its turn at an upstream, and a share of its key's limits. */
export interface Admission {
  readonly turn: Turn;
  readonly share: Share;
}

/** Takes the call's turn at an upstream and its share of the limits, all or nothing. */
export function admit(paid: PaidCall, candidates: Candidates, gate: Gate): Admission | Promise<Admission> {
  checkMaySpend(paid.caller);
  const wants = wantsOf(paid);
  const taking = takeTurn(candidates, wants, gate);
  return taking instanceof Promise
    ? admitLater(taking, wants, paid, gate)
    : admissionOf(taking, wants, paid, gate);
}

const admitLater = async (
  taking: Promise<TakenTurn>,
  wants: readonly Want[],
  paid: PaidCall,
  gate: Gate,
): Promise<Admission> => admissionOf(await taking, wants, paid, gate);

function admissionOf(
  taken: TakenTurn,
  wants: readonly Want[],
  paid: PaidCall,
  gate: Gate,
): Admission | Promise<never> {
  if (taken.kind !== "taken") return refuseTurn(taken, paid, gate);
  const { turn, standings } = taken;
  const [tokens] = standings;
  if (wants[0]?.kind === "rate" && tokens) paid.call.known.tokens = seenAt(gate.clock.wallMs(), tokens);
  const most = { tokens: allTokens(paid.priced.estimate.atMost) };
  return { turn, share: new Share(wants, most, turn.takenAtMs, gate.limiter) };
}

async function refuseTurn(
  refused: Exclude<TakenTurn, { kind: "taken" }>,
  paid: PaidCall,
  gate: Gate,
): Promise<never> {
  await checkEarlier(paid, gate);
  if (refused.kind === "limited") return refuseByLimit(paid.call, refused.by, gate);
  return refusePaused(paid.call, refused.upstream, gate);
}

/** Gives everything back that an admitted call took: it is not made. */
export async function withdraw({ turn, share }: Admission, { call }: PaidCall, gate: Gate): Promise<void> {
  await share.giveBack();
  await giveTurnBack(turn, gate);
  const [tokens] = share.wants;
  if (tokens?.kind === "rate") {
    call.known.tokens = seenAt(gate.clock.wallMs(), await gate.limiter.look(tokens));
  }
}

const takesSlot = ({ limits }: SoldOperation, { streaming }: PricedCall): boolean =>
  limits?.slot === "always" || (limits?.slot === "streaming" && streaming);

const ownLimits = ({ call, caller }: PaidCall) => limitsOfCaller(call.offer, caller);

/** Tokens first, where the operation has any. */
function wantsOf(paid: PaidCall): Want[] {
  const { call, operation, priced, caller } = paid;
  const { tokens } = priced.estimate;
  const wants = tokens === undefined ? [] : [keyTokens(caller.keyId, tokens, ownLimits(paid).tpm)];
  if (takesSlot(operation, priced)) wants.push(keySlot(caller.keyId, call.id, ownLimits(paid).concurrency));
  return wants;
}
