import type { Config } from "../../config/config.ts";
import type { Catalogue } from "../../operation/catalogue.ts";
import type { Upstream } from "../../operation/upstream.ts";
import { isVendorsOwn } from "../../operation/vendors.ts";
import type { OfferedOperation } from "../offer.ts";

/**
 * Models that ship and go where nobody said they should: to another vendor that speaks the same protocol, or to one
 * upstream now and to another one then. The operator may mean it, so it is told and not refused.
 */
export function doubtfulModels(
  catalogue: Catalogue,
  config: Config,
  offered: readonly OfferedOperation[],
): string[] {
  const assumed = servedByAssumption(catalogue, config, offered);
  return [...listPricesElsewhere(assumed, config), ...sharedModels(assumed)];
}

/** The real upstreams of each shipped model whose `via` nobody wrote. */
type Assumed = ReadonlyMap<string, readonly Upstream[]>;

function servedByAssumption(
  catalogue: Catalogue,
  config: Config,
  offered: readonly OfferedOperation[],
): Assumed {
  const shipped = new Set(catalogue.models.map(({ id }) => id));
  const assumed = new Map<string, readonly Upstream[]>();
  for (const { models, ordered } of offered) {
    // Here the operation's own `via` decides, so somebody wrote the order.
    if (ordered) continue;
    for (const { id, upstreams } of models.values()) {
      if (shipped.has(id) && config.models.get(id)?.via === undefined) assumed.set(id, upstreams);
    }
  }
  return assumed;
}

function listPricesElsewhere(assumed: Assumed, config: Config): string[] {
  const idsBy = new Map<Upstream["name"], string[]>();
  for (const [id, upstreams] of assumed) {
    if (config.models.get(id)?.price !== undefined) continue;
    for (const upstream of upstreams) {
      if (upstream.models !== undefined || isVendorsOwn(upstream)) continue;
      idsBy.set(upstream.name, [...(idsBy.get(upstream.name) ?? []), id]);
    }
  }
  return [...idsBy].map(([name, ids]) => {
    const { url = "", protocol } = config.upstreams.get(name) ?? {};
    return (
      `upstreams.${name}: sells ${some(ids)} at the list price of another vendor, because it speaks ${protocol}; ` +
      `write which models ${new URL(url).host} has, as models: [names], or [] for none of these`
    );
  });
}

function sharedModels(assumed: Assumed): string[] {
  const idsBy = new Map<string, string[]>();
  for (const [id, upstreams] of assumed) {
    // If the model is listed at each of them, the operator wants it at each of them.
    if (upstreams.length < 2 || upstreams.every(({ models }) => models !== undefined)) continue;
    const names = upstreams.map(({ name }) => name).join(", ");
    idsBy.set(names, [...(idsBy.get(names) ?? []), id]);
  }
  return [...idsBy].map(
    ([names, ids]) =>
      `upstreams ${names}: each call of ${some(ids)} goes to one of them, drawn by weight; ` +
      "where that is not meant, write models: [names] at each, or via at the model",
  );
}

/** Enough to know which are meant; all of them would fill the screen. */
const namesShown = 3;

export const some = (ids: readonly string[]): string =>
  ids.length <= namesShown + 1
    ? ids.join(", ")
    : `${ids.slice(0, namesShown).join(", ")} and ${ids.length - namesShown} more models`;
