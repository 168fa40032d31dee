import { isPublicHost } from "../platform/public-host.ts";
import type { Settings } from "./environment.ts";
import type { Environment } from "./variable.ts";

/**
 * What goes unencrypted to a Postgres or a Redis outside of one's own network. Other programs encrypt where a Postgres offers
 * it; ours does so only where it is told to. The operator may mean it, so it is told and not refused.
 */
export function sentInTheClear({ store, limits }: Settings, environment: Environment): string[] {
  const books = store.kind === "postgres" ? reachedBy(new URL(store.url), environment) : undefined;
  const counts = limits.kind === "redis" ? new URL(limits.url) : undefined;
  return [
    ...(books && isPublicHost(books.host) && !books.isEncrypted
      ? [
          `TOLLGATE_STORE: the books travel unencrypted to ${books.host}; write ?sslmode=verify-full behind the address`,
        ]
      : []),
    ...(counts?.protocol === "redis:" && counts.password !== "" && isPublicHost(counts.hostname)
      ? [`TOLLGATE_LIMITS: the password travels unencrypted to ${counts.hostname}; write rediss://`]
      : []),
  ];
}

/**
 * As the driver reads it: what stands behind the address goes before what stands in it, in letters of any size, and the last
 * word for a thing counts. A socket of this machine is a path in the place of a host.
 */
function reachedBy(
  { hostname, searchParams }: URL,
  { PGHOST: usualHost = "localhost", PGSSLMODE: usualMode = "" }: Environment,
): { readonly host: string; readonly isEncrypted: boolean } {
  const words = [...searchParams].map(([word, value]) => [word.toLowerCase(), value] as const);
  const [, host = ""] = words.findLast(([word]) => word === "host") ?? [];
  const [, mode = usualMode] = words.findLast(([word]) => wordsForTls.has(word)) ?? [];
  return {
    host: host || hostname || usualHost,
    isEncrypted: !plainModes.has(mode.toLowerCase()),
  };
}

const wordsForTls: ReadonlySet<string> = new Set(["sslmode", "ssl", "tls"]);
const plainModes: ReadonlySet<string> = new Set(["", "disable", "false", "0"]);
