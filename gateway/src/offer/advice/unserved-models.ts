import type { Config } from "../../config/config.ts";
import type { Catalogue } from "../../operation/catalogue.ts";
import type { ModelKind } from "../../operation/model-kind.ts";
import { isSold, modelKindOf } from "../../operation/operation.ts";
import type { UpstreamConfig } from "../../config/upstream-config.ts";
import type { Model } from "../merge-models.ts";
import type { OfferedOperation } from "../offer.ts";
import type { Gap } from "./gap.ts";

interface Bound {
  readonly catalogue: Catalogue;
  readonly config: Config;
  readonly models: readonly Model[];
  readonly offered: readonly OfferedOperation[];
}

/**
 * Models of the operator's own that have a price, and are sold by nobody all the same, or not by whom they were given to:
 * callers would be told that there is no such model, and whoever wrote it down would never know why.
 */
export function unservedModels({ catalogue, config, models, offered }: Bound): Gap[] {
  const shipped = new Set(catalogue.models.map(({ id }) => id));
  const own = models.filter(({ id, price }) => price && !shipped.has(id));
  return own.flatMap((model): Gap[] => {
    const given = givenTo(model, config);
    const unfit = given.flatMap(([upstream, { protocol }]): Gap[] => {
      const serves = kindsServedBy(protocol, catalogue);
      return serves.some((kind) => model.kinds.includes(kind))
        ? []
        : [{ kind: "unfit_model", model: model.id, upstream, serves }];
    });
    const isUnknown = given.length === 0 && !isOffered(model, offered);
    return isUnknown ? [{ kind: "unserved_model", model: model.id }] : unfit;
  });
}

/** The upstreams that `via` names, or whose own lists do. */
const givenTo = ({ id, via }: Model, { upstreams }: Config): [name: string, upstream: UpstreamConfig][] =>
  [...upstreams].filter(([name, { models }]) => via?.includes(name) ?? models?.has(id));

const kindsServedBy = (protocol: string, { operations }: Catalogue): ModelKind[] => [
  ...new Set(
    operations.flatMap((operation) =>
      isSold(operation) && protocol in operation.servedBy ? (modelKindOf(operation) ?? []) : [],
    ),
  ),
];

/** Also where a part of its price is missing, which is told by itself. */
const isOffered = ({ id }: Model, offered: readonly OfferedOperation[]): boolean =>
  offered.some(({ models, unpricedModels }) => models.has(id) || unpricedModels.has(id));
