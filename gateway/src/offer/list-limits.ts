import { isSold, type Operation } from "../operation/operation.ts";
import type { Offer } from "./offer.ts";

/** A limit and the operations it covers. */
export type SharedLimit =
  | { readonly kind: "tokens" | "slot"; readonly operations: readonly string[] }
  | {
      readonly kind: "group";
      readonly group: string;
      readonly limit: number;
      readonly operations: readonly string[];
    }
  | { readonly kind: "tasks"; readonly limit: number; readonly operations: readonly string[] }
  | {
      readonly kind: "upstream";
      readonly upstream: string;
      readonly limit: number;
      readonly operations: readonly string[];
    };

/** The limits that come with what is on offer: which operations count tokens, take slots, or have a limit of their own. */
export function listLimits(offer: Offer): SharedLimit[] {
  const offered = [...offer.operations.values()];
  const idsWhere = (test: (one: (typeof offered)[number]) => boolean): string[] =>
    offered.filter(test).map(({ operation }) => operation.id);

  const limits: SharedLimit[] = [
    { kind: "tokens", operations: idsWhere(({ operation }) => operation.price.kind === "per_token") },
    { kind: "slot", operations: idsWhere(({ operation }) => operation.limits?.slot !== undefined) },
  ];
  const groups = new Map(
    offered.flatMap(({ operation }) =>
      operation.limits?.rpm ? [[operation.limits.rpm.group, operation.limits.rpm.limit] as const] : [],
    ),
  );
  for (const [group, limit] of groups) {
    limits.push({ kind: "group", group, limit, operations: operationsInGroup(offer, group) });
  }
  const taskMax = Math.max(...offered.map(({ operation }) => openTasksOf(operation)));
  if (taskMax > 0) {
    const operations = idsWhere(({ operation }) => openTasksOf(operation) > 0);
    limits.push({ kind: "tasks", limit: taskMax, operations });
  }
  const quotas = new Map(
    offered.flatMap(({ upstreams }) => upstreams).map(({ name, quotaRpm }) => [name, quotaRpm]),
  );
  for (const [upstream, limit] of quotas) {
    if (limit === undefined) continue;
    const operations = idsWhere(({ upstreams }) => upstreams.some(({ name }) => name === upstream));
    limits.push({ kind: "upstream", upstream, limit, operations });
  }
  return limits;
}

const openTasksOf = (operation: Operation): number =>
  isSold(operation) ? (operation.task?.openMax ?? 0) : 0;

/** The operations that share one limit of requests per minute. */
export const operationsInGroup = ({ operations }: Pick<Offer, "operations">, group: string): string[] =>
  [...operations.values()]
    .filter(({ operation }) => operation.limits?.rpm?.group === group)
    .map(({ operation }) => operation.id);
