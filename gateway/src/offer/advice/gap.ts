import type { ModelKind } from "../../operation/model-kind.ts";
import type { Part } from "../missing-prices.ts";

/** Something the catalogue has, or the operator wrote, that is not on offer or does nothing. */
export type Gap = OperationGap | ModelGap | UpstreamGap;

type OperationGap =
  | {
      readonly kind:
        | "unknown_operation"
        | "models_off"
        | "sandbox_off"
        | "no_model"
        | "no_price"
        | "no_priced_model"
        | "price_beside_reports"
        | "price_beside_models"
        | "price_of_free"
        | "cost_without_reports"
        | "default_of_named";
      readonly operationId: string;
    }
  | { readonly kind: "default_not_offered"; readonly operationId: string; readonly model: string };

type ModelGap =
  | { readonly kind: "unknown_model_off" | "unpriced_model" | "unserved_model"; readonly model: string }
  | {
      readonly kind: "unfit_model";
      readonly model: string;
      readonly upstream: string;
      readonly serves: readonly ModelKind[];
    }
  | {
      readonly kind: "unpriced_parts";
      readonly model: string;
      readonly parts: readonly Part[];
      readonly operationId: string;
    };

type UpstreamGap =
  | { readonly kind: "no_links"; readonly upstream: string }
  | { readonly kind: "unknown_model_listed"; readonly upstream: string; readonly model: string };

/** Not selling everything is the operator's choice, with the sandbox or models off; any other gap is a mistake. */
export const isChosen = ({ kind }: Gap): boolean => kind === "sandbox_off" || kind === "models_off";

/** For people: the place in the configuration, or the operation, and what is the matter there. */
export function describeGap(gap: Gap): string {
  switch (gap.kind) {
    case "unknown_operation":
      return `operations.${gap.operationId}: there is no such operation`;
    case "models_off":
      return `${gap.operationId}: all of its models are off`;
    case "sandbox_off":
      return `${gap.operationId}: no upstream serves it and the sandbox is off`;
    case "no_model":
      return `${gap.operationId}: no upstream has a model for it`;
    case "no_price":
      return `${gap.operationId}: no price`;
    case "no_priced_model":
      return `${gap.operationId}: no model with a price`;
    case "price_beside_reports":
      return `operations.${gap.operationId}.price_usd: this operation is priced by what its vendor reports`;
    case "price_beside_models":
      return `operations.${gap.operationId}.price_usd: this operation is priced by its models`;
    case "price_of_free":
      return `operations.${gap.operationId}.price_usd: this operation is free`;
    case "cost_without_reports":
      return `operations.${gap.operationId}: cost_factor and max_cost_usd are for operations priced by what their vendor reports`;
    case "default_of_named":
      return `operations.${gap.operationId}.default_model: every call of this operation names its model`;
    case "default_not_offered":
      return `operations.${gap.operationId}.default_model: "${gap.model}" is not offered here`;
    case "unknown_model_off":
      return `models.${gap.model}: there is no such model to be off`;
    case "unpriced_model":
      return `models.${gap.model}: no price, so it is not offered`;
    case "unserved_model":
      return `models.${gap.model}: no upstream has it; name it under models of an upstream, or write via`;
    case "unfit_model":
      return (
        `models.${gap.model}: upstream "${gap.upstream}" serves ${gap.serves.join(", ")}, and by its price the model is for ` +
        "something else; prices by the second, such as second_720p, make it one for video"
      );
    case "unpriced_parts":
      return `models.${gap.model}: no price for ${gap.parts.join(" and ")}, so it is not offered for ${gap.operationId}`;
    case "no_links":
      return `upstreams.${gap.upstream}: protocol x needs authorize_url, token_url and client_id, or nobody can link an account`;
    case "unknown_model_listed":
      return `upstreams.${gap.upstream}.models: ${gap.model} is not known; give it a price under models`;
  }
}
