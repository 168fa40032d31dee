import { nameAt } from "../../offer/name-at.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import type { UpstreamAnswer } from "../../operation/price-contract.ts";
import type { Quantities } from "../../prices/quantities.ts";
import { readCount } from "../../prices/read-count.ts";
import { isSuccess, type NoAnswerReason } from "../../operation/exchanged.ts";
import type { StreamRelay } from "../../operation/stream-relay.ts";
import type { TokenReading } from "../../operation/token-reading.ts";
import type { Upstream } from "../../operation/upstream.ts";
import type { AttemptedWhole } from "./forward.ts";
import type { Gate } from "../gate.ts";
import type { BookedCall, PricedCall } from "../priced-call.ts";
import type { CallPrice } from "../call-price.ts";
import { brokenOff, inDoubt, nothing, type Metered } from "../metering/metered.ts";
import { soldAsWritten } from "../metering/sold-as-written.ts";
import { unitsWithinReach, withinReach } from "../metering/within-reach.ts";

/** Reads the answer for what must be paid. No evidence, no charge. */
export function meter(priced: PricedCall, { exchanged, upstream }: AttemptedWhole, gate: Gate): Metered {
  if (exchanged.kind === "no_answer") {
    return exchanged.sent && mayHaveWorked.has(exchanged.reason) ? inDoubt : nothing;
  }
  if (!isSuccess(exchanged)) return nothing;
  const { price } = priced.operation;
  if (price.kind === "per_unit") return meterUnits(priced, price, exchanged.answer, upstream, gate);
  const metered = meterTokens(priced, exchanged.tokens, upstream, gate);
  return exchanged.tokens?.gaveUp === true ? brokenOff(metered) : metered;
}

/** Without an answer, these leave open what the upstream did with what was sent. */
const mayHaveWorked: ReadonlySet<NoAnswerReason> = new Set(["timeout", "cut_off", "gateway_stopped"]);

/** By the units that the answer proves; where its figure is no number, by what was asked for. */
function meterUnits(
  { operation, input, price: callPrice }: PricedCall,
  price: Extract<SoldOperation["price"], { kind: "per_unit" }>,
  answer: UpstreamAnswer,
  upstream: Upstream,
  gate: Gate,
): Metered {
  const anomalies: string[] = [];
  // Operators write operations of their own, which may pass a vendor's figure on as it came.
  const told: unknown = price.delivered(answer, input, anomalies);
  const isDelivered = told !== undefined;
  const count = isDelivered ? readCount(told ?? Number.NaN, price.unit, anomalies) : 0;
  const units = count ?? price.requested(input);
  const used = { [price.unit]: unitsWithinReach(units, callPrice) };
  const beyond = beyondReach({ [price.unit]: units }, used);
  if (anomalies.length + beyond.length > 0) noteAnomalies(operation, { anomalies, beyond }, upstream, gate);
  const source = count === undefined ? "estimated" : "provider";
  return isDelivered ? { kind: "delivered", used, source, whole: true } : nothing;
}

interface PassedStream {
  readonly relay: StreamRelay;
  readonly upstream: Upstream;
  /** Then it is no failure that the rest did not come. */
  readonly callerLeft: boolean;
}

/** The same for a stream, by what passed of it until now. */
export function meterStream(
  booked: BookedCall,
  { relay, upstream, callerLeft }: PassedStream,
  gate: Gate,
): Metered {
  const { tokens, complete } = relay.read();
  const metered = meterTokens(booked, tokens, upstream, gate);
  return complete || callerLeft ? metered : brokenOff(metered);
}

function meterTokens(
  { operation, price }: Pick<BookedCall, "operation" | "price">,
  tokens: TokenReading | undefined,
  upstream: Upstream,
  gate: Gate,
): Metered {
  const told = tokens && toldBy(tokens, price);
  const sold = told && soldAsWritten(told, price);
  const used = sold && withinReach(sold, price);
  if (tokens && (tokens.anomalies.length > 0 || used !== sold)) {
    noteAnomalies(operation, { ...tokens, beyond: beyondReach(sold, used) }, upstream, gate);
  }
  if (tokens?.model !== undefined && price.model) {
    const asked = nameAt(price.model, upstream.name);
    gate.modelNews.noteAnswer(upstream.name, asked, tokens.model);
  }
  if (!used) return nothing;
  if (tokens.used && sold !== told && price.model)
    gate.modelNews.noteUnpricedAudio(upstream.name, price.model.id);
  if (price.model?.hasCacheWritePrice === false && writesCache(used))
    gate.modelNews.noteUnpricedCacheWrite(upstream.name, price.model.id);
  return { kind: "delivered", used, source: tokens.used ? "provider" : "estimated", whole: true };
}

const writesCache = (used: Quantities): boolean =>
  (used["cache_write_tokens"] ?? 0) > 0 || (used["cache_write_1h_tokens"] ?? 0) > 0;

/** The units of which more was told than is believed. */
const beyondReach = (told: Quantities = {}, used: Quantities = {}): readonly string[] =>
  Object.keys(told).filter((unit) => told[unit] !== used[unit]);

/** What a stream would cost if it ended now; undefined as long as it has delivered nothing. */
export function deliveredSoFar({ price }: BookedCall, relay: StreamRelay): Quantities | undefined {
  const told = toldBy(relay.read().tokens, price);
  return told && withinReach(soldAsWritten(told, price), price);
}

/** Without a report, only delivered output is worth money; what it does not show is what we expected. */
function toldBy({ used, estimate, isUncounted }: TokenReading, price: CallPrice): Quantities | undefined {
  if (used || !estimate) return used;
  const { expected } = price.estimate;
  const told = { ...expected, ...estimate };
  if (isUncounted !== true) return told;
  return { ...told, output_tokens: Math.max(expected["output_tokens"] ?? 0, told["output_tokens"] ?? 0) };
}

/** The names of figures are the upstream's words, of any length. */
const anomalyCharactersMax = 500;

/** One line for a call, however many of its figures are odd. */
function noteAnomalies(
  operation: SoldOperation,
  {
    anomalies,
    anomalyCount = anomalies.length,
    beyond = [],
  }: Pick<TokenReading, "anomalies" | "anomalyCount"> & { readonly beyond?: readonly string[] },
  upstream: Upstream,
  gate: Gate,
): void {
  const count = anomalyCount + beyond.length;
  const named = [...anomalies, ...beyond.map((unit) => `${unit} are more than the call could use`)];
  gate.metrics.count("tollgate_usage_anomalies_total", { upstream: upstream.name }, count);
  gate.log.warn("odd usage reported", {
    upstream: upstream.name,
    operation_id: operation.id,
    anomalies: named.join(", ").slice(0, anomalyCharactersMax),
    count,
  });
}
