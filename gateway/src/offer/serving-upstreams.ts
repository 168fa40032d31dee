import type { Config } from "../config/config.ts";
import { modelKindOf, type SoldOperation } from "../operation/operation.ts";
import type { Upstream } from "../operation/upstream.ts";
import type { Model } from "./merge-models.ts";
import { sandboxUpstream } from "./sandbox-upstream.ts";

/** Who may serve what: the configuration, the sandbox beside it, and all models. */
export interface Market {
  readonly config: Config;
  readonly sandboxUrl: string | undefined;
  readonly models: readonly Model[];
}

/** Real upstreams when any fits; otherwise the sandbox. An operation with a real upstream never falls back to it. */
export function servingUpstreams(
  operation: SoldOperation,
  { config, sandboxUrl, models }: Market,
): Upstream[] {
  const via = config.operations.get(operation.id)?.via;
  const able = [...config.upstreams]
    .filter(
      ([name, upstream]) =>
        upstream.protocol in operation.servedBy && (via === undefined || via.includes(name)),
    )
    .map(([name, upstream]): Upstream => ({ name, ...upstream, sandbox: false }));
  const real = able.filter((upstream) => via !== undefined || hasModelFor(operation, upstream, models));
  if (via !== undefined) real.sort((a, b) => via.indexOf(a.name) - via.indexOf(b.name));
  if (real.length > 0 || sandboxUrl === undefined || isMeant(operation, able, config, models)) return real;
  return Object.keys(operation.servedBy).map((protocol) => sandboxUpstream(protocol, sandboxUrl));
}

/**
 * An upstream that has none of an operation's models does not serve the operation; but where it may still have tasks
 * under way that are paid for, it stays to be asked about them.
 */
function hasModelFor(operation: SoldOperation, upstream: Upstream, models: readonly Model[]): boolean {
  if (operation.task) return true;
  const kind = modelKindOf(operation);
  if (kind === undefined || upstream.models === undefined) return true;
  return models.some((model) => model.kinds.includes(kind) && hasModel(upstream, model));
}

/** Whether a real upstream should serve such models but has none: the sandbox's made-up answers must not be sold instead. */
function isMeant(
  operation: SoldOperation,
  able: readonly Upstream[],
  config: Config,
  models: readonly Model[],
): boolean {
  const kind = modelKindOf(operation);
  if (kind === undefined || able.length === 0) return false;
  const isOwn = ({ id, via, kinds }: Model): boolean =>
    config.models.has(id) && via === undefined && kinds.includes(kind);
  const isOnSale = (id: string): boolean => models.some((model) => model.id === id);
  return (
    models.some(isOwn) || able.some((upstream) => [...(upstream.models ?? [])].some((id) => !isOnSale(id)))
  );
}

/** Where a model says who serves it, that holds; otherwise what an upstream says it has; otherwise the protocol. */
export const hasModel = (upstream: Upstream, { id, via, protocols }: Model): boolean =>
  via?.includes(upstream.name) ??
  upstream.models?.has(id) ??
  (protocols === undefined || protocols.includes(upstream.protocol));
