import { isJsonObject } from "../platform/json.ts";
import { parseDecimal } from "../platform/money.ts";
import { changed, type Change } from "./compare-schemas.ts";
import { listIn } from "./contract-document.ts";

/** A price lists the models that are sold. A call of one that is gone is refused, so that breaks callers. */
export function comparePrices(was: unknown, is: unknown): Change[] {
  const [before, after] = [modelsIn(was), modelsIn(is)];
  const both = before.filter((model) => after.includes(model));
  const gone = before.filter((model) => !both.includes(model));
  const come = after.filter((model) => !both.includes(model));
  return [
    ...gone.map((model) => changed("model_removed", placeOf(model), true, "it is not sold any more")),
    ...come.map((model) => changed("model_added", placeOf(model), false, "it is sold now")),
    ...compareAmounts(priceOfOnly(both, was), priceOfOnly(both, is)),
  ];
}

/** That a call costs more is worth telling, but breaks nobody's code. */
function compareAmounts(was: unknown, is: unknown): Change[] {
  const before = amountsIn(was, "price");
  const after = amountsIn(is, "price");
  const changes: Change[] = [];
  for (const [at, usd] of before) {
    const now = after.get(at);
    if (now === undefined) changes.push(changed("price_removed", at, false, `${usd} is gone`));
    else if (now !== usd) changes.push(changed(direction(usd, now), at, false, `${usd} became ${now}`));
  }
  for (const [at, usd] of after) {
    if (!before.has(at)) changes.push(changed("price_added", at, false, `${usd} is new`));
  }
  return changes;
}

function direction(was: string, is: string): string {
  const before = parseDecimal(was, 18);
  const after = parseDecimal(is, 18);
  if (before === undefined || after === undefined) return "price_changed";
  return after > before ? "price_raised" : "price_lowered";
}

/** Every amount in a price, by where it stands; models are known by their names, not by their places. */
function amountsIn(price: unknown, at: string): Map<string, string> {
  if (Array.isArray(price)) {
    return new Map(price.flatMap((one, index) => [...amountsIn(one, `${at} ${modelIn(one) ?? index}`)]));
  }
  if (!isJsonObject(price)) return new Map();
  return new Map(
    Object.entries(price).flatMap(([name, value]): [string, string][] => {
      if (name === "model" || name === "price_version" || name === "estimate") return [];
      if (typeof value === "string" || typeof value === "number") return [[`${at} ${name}`, String(value)]];
      return [...amountsIn(value, `${at} ${name}`)];
    }),
  );
}

const placeOf = (model: string): string => `price models ${model}`;

const modelsIn = (price: unknown): string[] =>
  isJsonObject(price) ? listIn(price, "models").flatMap((one) => modelIn(one) ?? []) : [];

/** The price without what it says of other models. */
const priceOfOnly = (models: readonly string[], price: unknown): unknown =>
  isJsonObject(price) && "models" in price
    ? { ...price, models: listIn(price, "models").filter((one) => models.includes(modelIn(one) ?? "")) }
    : price;

const modelIn = (price: unknown): string | undefined =>
  isJsonObject(price) && typeof price["model"] === "string" ? price["model"] : undefined;
