import { keySlot, keyTokens, seenAt } from "../../limits/call-limits.ts";
import type { Want } from "../../limits/limiter.ts";
import { limitsOfCaller } from "../../offer/limits-of-caller.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import { allTokens } from "../../prices/quantities.ts";
import { checkEarlier } from "../refusals/check-earlier.ts";
import type { Gate } from "../gate.ts";
import type { PricedCall } from "../priced-call.ts";
import type { Candidates } from "../candidates.ts";
import type { CallPrice } from "../call-price.ts";
import { refuseByLimit } from "../refusals/refuse-by-limit.ts";
import { refusePaused } from "../refusals/refuse-paused.ts";
import { Share } from "../limits/share.ts";
import { checkMaySpend } from "./check-may-spend.ts";
import { giveTurnBack, takeFirstTurn, type TakenTurn, type Turn } from "./take-turn.ts";

/** What a call took: its turn at an upstream, and a share of its key's limits. */
export interface Admission {
  readonly turn: Turn;
  readonly share: Share;
}

/** Takes the call's turn at an upstream and its share of the limits, all or nothing. */
export function admit(
  priced: PricedCall,
  candidates: Candidates,
  gate: Gate,
): Admission | Promise<Admission> {
  checkMaySpend(priced.caller);
  const wants = wantsOf(priced);
  const taking = takeFirstTurn(candidates, wants, gate);
  return taking instanceof Promise
    ? admitLater(taking, wants, priced, gate)
    : admissionOf(taking, wants, priced, gate);
}

const admitLater = async (
  taking: Promise<TakenTurn>,
  wants: readonly Want[],
  priced: PricedCall,
  gate: Gate,
): Promise<Admission> => admissionOf(await taking, wants, priced, gate);

function admissionOf(
  taken: TakenTurn,
  wants: readonly Want[],
  priced: PricedCall,
  gate: Gate,
): Admission | Promise<never> {
  if (taken.kind !== "taken") return refuseTurn(taken, priced, gate);
  const { turn, standings } = taken;
  const [tokens] = standings;
  if (wants[0]?.kind === "rate" && tokens) priced.call.known.tokens = seenAt(gate.clock.wallMs(), tokens);
  const tokensMax = allTokens(priced.price.estimate.atMost);
  return { turn, share: new Share(wants, tokensMax, turn, gate.limiter) };
}

async function refuseTurn(
  refused: Exclude<TakenTurn, { kind: "taken" }>,
  priced: PricedCall,
  gate: Gate,
): Promise<never> {
  await checkEarlier(priced, gate);
  if (refused.kind === "limited") return refuseByLimit(priced.call, refused.by, gate);
  return refusePaused(priced.call, refused.upstream, gate);
}

/** Gives everything back that an admitted call took: it is not made. */
export async function withdraw({ turn, share }: Admission, { call }: PricedCall, gate: Gate): Promise<void> {
  await share.giveBack();
  await giveTurnBack(turn, gate);
  const [tokens] = share.wants;
  if (tokens?.kind === "rate") {
    call.known.tokens = seenAt(gate.clock.wallMs(), await gate.limiter.look(tokens));
  }
}

const takesSlot = ({ limits }: SoldOperation, { streaming }: CallPrice): boolean =>
  limits?.slot === "always" || (limits?.slot === "streaming" && streaming);

const ownLimits = ({ call, caller }: PricedCall) => limitsOfCaller(call.offer, caller);

/** Tokens first, where the operation has any. */
function wantsOf(priced: PricedCall): Want[] {
  const { call, operation, price, caller } = priced;
  const { tokens } = price.estimate;
  const wants = tokens === undefined ? [] : [keyTokens(caller.keyId, tokens, ownLimits(priced).tpm)];
  if (takesSlot(operation, price)) wants.push(keySlot(caller.keyId, call.id, ownLimits(priced).concurrency));
  return wants;
}
