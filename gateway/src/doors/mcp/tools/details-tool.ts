import type { Allowed } from "../../../keys/allowed-names.ts";
import { offeredExample } from "../../../offer/examples/example-request.ts";
import { mayUseModel } from "../../../offer/may-use.ts";
import type { OfferedOperation } from "../../../offer/offer.ts";
import { argumentsSchema, exampleArguments } from "../../../operation/call-arguments.ts";
import type { TierLimits } from "../../../limits/tiers.ts";
import { linkScopes, outputSchema } from "./operation-facts.ts";
import { pricingOf } from "./pricing.ts";
import { resultBytesMax } from "../calls/read-answer.ts";
import { headline } from "./search-tool.ts";

export interface DetailsArguments {
  readonly operation_id: string;
  readonly include?: readonly Section[];
}

type Section = "input_schema" | "output_schema" | "pricing" | "limits" | "examples";

/** The whole contract of an operation, or the sections asked for. */
export function operationDetails(
  offered: OfferedOperation,
  { include }: DetailsArguments,
  caller: { readonly limits: TierLimits; readonly multiplierPpm: bigint; readonly allowed: Allowed },
) {
  const { operation, path } = offered;
  const { summary, ...head } = headline(offered);
  const scopes = linkScopes(operation);
  const output = outputSchema(operation);
  const shown = offeredExample(offered);
  const example = shown && exampleArguments(operation, shown);
  const wants = (section: Section): boolean => include === undefined || include.includes(section);
  return {
    ...head,
    description: descriptionOf(offered, summary, caller.allowed),
    http: { method: operation.method, path },
    ...(scopes ? { required_link_scopes: scopes } : {}),
    ...(wants("pricing") ? { pricing: pricingOf(offered, caller.multiplierPpm) } : {}),
    ...(wants("input_schema") ? { input_schema: argumentsSchema(operation, path) } : {}),
    ...(wants("output_schema") && output ? { output_schema: output } : {}),
    ...(wants("examples") && example ? { examples: [example] } : {}),
    ...(wants("limits") ? { limits: limitsOf(offered, caller.limits) } : {}),
  };
}

function descriptionOf({ operation, models }: OfferedOperation, summary: string, allowed: Allowed): string {
  const sentences = [summary, ...(operation.notes === undefined ? [] : [operation.notes])];
  if (operation.definition === "pending") {
    sentences.push("Its definition is incomplete, so use refuses it; do not invent its fields.");
  }
  const usable = [...models.keys()].filter((model) => mayUseModel(allowed, model));
  if (usable.length > 0) {
    const some = usable.slice(0, modelsNamedMax);
    sentences.push(`Models: ${some.join(", ")}${usable.length > some.length ? ", …" : ""}.`);
  }
  return sentences.join(" ");
}

const modelsNamedMax = 20;

function limitsOf({ operation }: OfferedOperation, { rpm, tpm, concurrency }: TierLimits) {
  return {
    requests_per_minute: operation.limits?.rpm ? Math.min(rpm, operation.limits.rpm.limit) : rpm,
    ...(operation.price.kind === "per_token" ? { tokens_per_minute: tpm } : {}),
    ...(operation.limits?.slot === undefined ? {} : { concurrency }),
    body_bytes_max: operation.bodyBytesMax,
    result_bytes_max: resultBytesMax,
  };
}
