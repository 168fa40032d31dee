import type { JsonObject } from "../platform/json.ts";
import type { Offer, OfferedModel, OfferedOperation } from "./offer.ts";

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

/** Undefined when the operation has no example. */
export function exampleRequest(offered: OfferedOperation, names: Offer["names"]): ExampleRequest | undefined {
  const { operation, path } = offered;
  const { example } = operation;
  if (!example) return undefined;
  const model = exampleModel(offered);
  const params: Readonly<Record<string, string>> = {
    ...example.params,
    ...(model !== undefined && example.params?.["model"] !== undefined ? { model } : {}),
  };
  const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) => params[name] ?? whole);
  const query = example.query ?? {};
  const rawQuery = new URLSearchParams(query).toString();
  const body =
    example.body &&
    (model === undefined || !("model" in example.body) ? example.body : { ...example.body, model });
  return {
    target: `${filled}${rawQuery === "" ? "" : `?${rawQuery}`}`,
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

/** The model of the example when it is on offer, otherwise one that is: nobody should paste a 404. */
export function exampleModel({ operation, models, defaultModel }: OfferedOperation): string | undefined {
  const { params, body } = operation.example ?? {};
  const written = params?.["model"] ?? body?.["model"];
  if (typeof written === "string" && models.has(written)) return written;
  return defaultModel?.id ?? [...models.keys()][0];
}
