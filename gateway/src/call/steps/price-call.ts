import { estimateCall } from "../../offer/estimate-call.ts";
import { mayUseModel, mayUseOperation } from "../../offer/may-use.ts";
import type { OfferedModel } from "../../offer/offer.ts";
import type { CallInput } from "../../operation/call-input.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import { objectOrEmpty } from "../../platform/json.ts";
import { microsRoundedUp } from "../../platform/money.ts";
import { withoutOurSecrets } from "../../platform/our-secrets.ts";
import { refuse } from "../../platform/refusals.ts";
import { valuePico } from "../../prices/terms.ts";
import type { CallPrice } from "../call-price.ts";
import type { Gate } from "../gate.ts";
import type { ValidCall } from "../valid-call.ts";
import { checkModelAllowed } from "./check-allowed.ts";

export function priceCall(valid: ValidCall<SoldOperation>, gate: Gate): CallPrice {
  const { operation, offered, input, caller } = valid;
  const { price } = operation;
  const names = price.kind === "per_token" ? price : price.kind === "per_second" ? {} : undefined;
  const model = names && chooseModel(valid, names, gate);
  const { terms, upstreams, ordered } = model ?? offered;
  const estimate = estimateCall(offered, model, input);
  if (!terms || !estimate) return unpriced(operation.id, gate);
  const atMostPico = valuePico(estimate.atMost, terms);
  const multiplierPpm = caller.planMultiplierPpm;
  return {
    terms,
    model,
    upstreams,
    ordered,
    streaming: operation.streams?.(input) ?? false,
    estimate,
    exact: isFixed(price) && valuePico(estimate.expected, terms) === atMostPico,
    multiplierPpm,
    atMostMicros: microsRoundedUp(atMostPico * multiplierPpm),
  };
}

/** Whether the request alone can say what will be delivered. Tokens and a vendor's own cost are known afterwards. */
const isFixed = ({ kind }: SoldOperation["price"]): boolean => kind === "per_unit" || kind === "per_second";

const bodyModel = (input: CallInput): unknown => objectOrEmpty(input.body)["model"];

interface NamesModel {
  readonly modelOf?: (input: CallInput) => unknown;
}

/** The model that the input names, or the one that serves when it names none; never one that is not for this key. */
export function chooseModel(valid: ValidCall, names: NamesModel, gate: Gate): OfferedModel {
  const model = findModel(valid, names, gate) ?? refuseModel(valid, names);
  checkModelAllowed(model, valid.caller);
  return model;
}

function findModel(
  { offered, input }: ValidCall,
  { modelOf = bodyModel }: NamesModel,
  gate: Gate,
): OfferedModel | undefined {
  const wanted = modelOf(input);
  if (wanted === undefined) return offered.defaultModel ?? unpriced(offered.operation.id, gate);
  const model = typeof wanted === "string" ? offered.models.get(wanted) : undefined;
  if (model) return model;
  if (typeof wanted === "string" && offered.unpricedModels.has(wanted)) return unpricedModel(wanted, gate);
  return undefined;
}

/** Not every operation serves every model that is listed, so whoever met the wrong one is told of the others. */
function refuseModel({ call, input, caller }: ValidCall, { modelOf = bodyModel }: NamesModel): never {
  const { operations } = call.offer;
  const wanted = String(modelOf(input));
  const serving = mayUseModel(caller, wanted)
    ? [...operations.values()].filter(
        ({ operation, models }) =>
          operation.price.kind !== "free" && models.has(wanted) && mayUseOperation(caller, operation),
      )
    : [];
  const names = serving.map(({ operation }) => operation.id).join(", ");
  // Apps ask for models that nobody chose in them, so whoever reads this is told which one it was, unless it was a key.
  const named = withoutOurSecrets(wanted).slice(0, namedCharactersMax);
  return refuse(
    "model_not_found",
    names === ""
      ? `There is no model ${named} at this operation; GET /v1/models lists the models there are, and what each is for.`
      : `${wanted} is not served by this operation, but by ${names}.`,
    { field: "model" },
  );
}

/** No model has a longer name, and what is no name at all need not be told whole. */
const namedCharactersMax = 200;

function unpriced(operationId: string, gate: Gate): never {
  gate.log.error("an operation without a price was called", { operation_id: operationId });
  return refuse("billing_config_invalid", "This operation has no price yet, so it cannot be served.", {
    retryable: false,
  });
}

function unpricedModel(model: string, gate: Gate): never {
  gate.log.error("a model without a price was called", { model });
  return refuse("billing_config_invalid", "This model has no price yet, so it cannot be served.", {
    retryable: false,
    field: "model",
  });
}
