import type { Credential } from "../keys/keys.ts";
import type { OfferedModel, OfferedOperation } from "../offer/offer.ts";
import type { CallInput, Estimate } from "../operation/operation.ts";
import { valuePico, type Terms } from "../operation/terms.ts";
import type { Upstream } from "../operation/upstream.ts";
import { isJsonObject } from "../platform/json.ts";
import { microsRoundedUp, type Micros } from "../platform/money.ts";
import { refuse } from "../platform/refusals.ts";
import type { Gate } from "./gate.ts";

/** A call with its price: what it will probably cost, and the most it can. Quotes and holds come from here alike. */
export interface PricedCall {
  readonly terms: Terms;
  readonly model: OfferedModel | undefined;
  readonly upstreams: readonly Upstream[];
  readonly estimate: Estimate;
  readonly exact: boolean;
  readonly multiplierPpm: bigint;
  readonly expectedMicros: Micros;
  readonly atMostMicros: Micros;
}

export function priceCall(
  offered: OfferedOperation,
  input: CallInput,
  caller: Credential,
  gate: Gate,
): PricedCall {
  const { price } = offered.operation;
  if (price.kind === "per_token") {
    const model = chooseModel(offered, input, gate);
    const estimate = price.estimate(input, model.facts);
    return priced(model.terms, model, model.upstreams, estimate, false, caller);
  }
  if (price.kind !== "per_unit" || !offered.terms) return unpriced(offered.operation.id, gate);
  const quantities = { [price.unit]: price.requested(input) };
  const estimate = { expected: quantities, atMost: quantities };
  return priced(offered.terms, undefined, offered.upstreams, estimate, true, caller);
}

function priced(
  terms: Terms,
  model: OfferedModel | undefined,
  upstreams: readonly Upstream[],
  estimate: Estimate,
  exact: boolean,
  caller: Credential,
): PricedCall {
  const multiplierPpm = caller.planMultiplierPpm;
  const atMostMicros = microsRoundedUp(valuePico(estimate.atMost, terms) * multiplierPpm);
  const expectedMicros = exact
    ? atMostMicros
    : microsRoundedUp(valuePico(estimate.expected, terms) * multiplierPpm);
  return { terms, model, upstreams, estimate, exact, multiplierPpm, expectedMicros, atMostMicros };
}

function chooseModel(offered: OfferedOperation, input: CallInput, gate: Gate): OfferedModel {
  const wanted = isJsonObject(input.body) ? input.body["model"] : undefined;
  if (wanted === undefined) return offered.defaultModel ?? unpriced(offered.operation.id, gate);
  const model = typeof wanted === "string" ? offered.models.get(wanted) : undefined;
  if (model) return model;
  return refuse(
    "model_not_found",
    "There is no such model here; GET /v1/models lists the models that can be called.",
    {
      field: "model",
    },
  );
}

function unpriced(operationId: string, gate: Gate): never {
  gate.log.error("an operation without a price was called", { operation_id: operationId });
  return refuse("billing_config_invalid", "This operation has no price yet, so it cannot be served.", {
    inError: { retryable: false },
  });
}
