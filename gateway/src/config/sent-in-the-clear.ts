import { isPublicHost } from "../platform/public-host.ts";
import type { Settings } from "./environment.ts";
import type { Environment } from "./variable.ts";

/**
 * What goes unencrypted to a Postgres or a Redis outside of one's own network. Other programs encrypt where a Postgres offers
 * it; ours does so only where it is told to. The operator may mean it, so it is told and not refused.
 */
export function sentInTheClear({ store, limits }: Settings, environment: Environment): string[] {
  const books = store.kind === "postgres" ? new URL(store.url) : undefined;
  const counts = limits.kind === "redis" ? new URL(limits.url) : undefined;
  return [
    ...(books && isPublicHost(books.hostname) && !asksForTls(books, environment)
      ? [
          `TOLLGATE_STORE: the books travel unencrypted to ${books.hostname}; write ?sslmode=verify-full behind the address`,
        ]
      : []),
    ...(counts?.protocol === "redis:" && counts.password !== "" && isPublicHost(counts.hostname)
      ? [`TOLLGATE_LIMITS: the password travels unencrypted to ${counts.hostname}; write rediss://`]
      : []),
  ];
}

/** In each of the words that the driver takes for it. */
function asksForTls({ searchParams }: URL, { PGSSLMODE: usual }: Environment): boolean {
  const written = ["sslmode", "ssl", "tls"].flatMap((word) => searchParams.getAll(word));
  return [...written, usual ?? ""].some((mode) => !plainModes.has(mode));
}

const plainModes: ReadonlySet<string> = new Set(["", "disable", "false"]);
