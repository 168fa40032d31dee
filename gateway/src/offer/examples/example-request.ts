import { modelKindOf, type Example, type Operation } from "../../operation/operation.ts";
import type { JsonObject } from "../../platform/json.ts";
import type { Offer, OfferedModel, OfferedOperation } from "../offer.ts";
import { takesSlashes } from "../routes.ts";

/** The operation's example, as it can be sent to this offer. */
export interface ExampleRequest {
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: JsonObject | undefined;
  readonly model: OfferedModel | undefined;
}

/** Undefined when the operation has no example that could be sent. */
export function exampleRequest(offered: OfferedOperation, names: Offer["names"]): ExampleRequest | undefined {
  const example = offeredExample(offered);
  if (!example) return undefined;
  const { params = {}, query = {}, body } = example;
  const model = exampleModel(offered);
  const rawQuery = new URLSearchParams(query).toString();
  return {
    target: `${filledPath(offered, params)}${rawQuery === "" ? "" : `?${rawQuery}`}`,
    headers: Object.fromEntries(
      Object.entries(example.headers ?? {}).map(([name, value]) => [
        name.replaceAll("{provider}", names.provider),
        value,
      ]),
    ),
    params,
    query,
    body,
    model: model === undefined ? undefined : offered.models.get(model),
  };
}

/** Escaped as a path needs it; what names of models hold stays readable where the route takes it. */
const filledPath = ({ operation, path }: OfferedOperation, params: ExampleRequest["params"]): string =>
  path.replace(/\{(\w+)\}/g, (whole, name: string, at: number) => {
    const value = params[name];
    if (value === undefined) return whole;
    const escaped = encodeURIComponent(value).replaceAll("%3A", ":");
    return takesSlashes(operation, path.slice(at + whole.length)) ? escaped.replaceAll("%2F", "/") : escaped;
  });

/** The operation's example, with a model that is on offer; undefined when it needs one and none is. */
export function offeredExample(offered: OfferedOperation): Example | undefined {
  const { operation } = offered;
  const { example } = operation;
  if (!example || !needsModel(operation)) return example;
  const model = exampleModel(offered);
  if (model === undefined) return undefined;
  const { params, body } = example;
  const param = modelParam(operation);
  return {
    ...example,
    ...(params?.[param] === undefined ? {} : { params: { ...params, [param]: model } }),
    ...(body?.["model"] === undefined ? {} : { body: { ...body, model } }),
  };
}

/** The model of the example when it is on offer, otherwise one that is: nobody should paste a 404. */
export function exampleModel({
  operation,
  models,
  defaultModel,
  toldModels,
}: OfferedOperation): string | undefined {
  const { params, body } = operation.example ?? {};
  const written = params?.[modelParam(operation)] ?? body?.["model"];
  const names = operation.tellsOfModel ? toldModels : [...models.keys()];
  if (typeof written === "string" && names.includes(written)) return written;
  // An example without a model calls the default. Sorted, because the contract must not depend on the order of models.
  return written === undefined ? defaultModel?.id : names.toSorted()[0];
}

const needsModel = (operation: Operation): boolean =>
  operation.tellsOfModel !== undefined || modelKindOf(operation) !== undefined;

/** The path parameter that names the model, where it stands in the path. */
const modelParam = ({ tellsOfModel }: Operation): string => tellsOfModel?.param ?? "model";
