import { isSold, type Operation } from "../operation/operation.ts";
import { ConfigError } from "../platform/config-error.ts";
import type { OfferedOperation } from "./offer.ts";

/** An operation, and the parameters that stand in its path, unescaped. */
export interface FoundRoute {
  readonly offered: OfferedOperation;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the operation behind a method and path. Paths match to the letter: a variant is another path. */
export interface Routes {
  readonly find: (method: string, path: string) => FoundRoute | undefined;
  /** Whether the request looks for an operation in a place where other services have it. */
  readonly isUnsupported: (method: string, path: string, rawQuery: string) => boolean;
  readonly all: readonly OfferedOperation[];
}

const noParams: Readonly<Record<string, string>> = Object.freeze({});

/** Throws ConfigError when two operations have one path: the later one would silently take over the other's callers. */
export function createRoutes(all: readonly OfferedOperation[]): Routes {
  checkPaths(all);
  /** By path and then by method, so that no text has to be made to look one up. */
  const fixed = new Map<string, Map<string, FoundRoute>>();
  const patterns: {
    readonly method: string;
    readonly pattern: RegExp;
    readonly offered: OfferedOperation;
  }[] = [];
  for (const offered of all) {
    const { method } = offered.operation;
    if (offered.path.includes("{")) {
      patterns.push({ method, pattern: patternOf(offered), offered });
      continue;
    }
    const methods = fixed.get(offered.path) ?? new Map<string, FoundRoute>();
    fixed.set(offered.path, methods.set(method, { offered, params: noParams }));
  }
  const unsupported = new Set(
    all.flatMap(({ operation: { method, unsupportedPath } }) =>
      unsupportedPath === undefined ? [] : [`${method} ${unsupportedPath}`],
    ),
  );
  const find: Routes["find"] = (method, path) => {
    const found = fixed.get(path)?.get(method);
    if (found) return found;
    for (const { method: wanted, pattern, offered } of patterns) {
      const match = wanted === method ? pattern.exec(path) : null;
      if (!match) continue;
      const params = unescaped(match.groups ?? noParams);
      return params && { offered, params };
    }
    return method === "HEAD" ? headOf(find("GET", path)) : undefined;
  };
  return {
    all,
    find,
    isUnsupported: (method, path, rawQuery) => rawQuery !== "" && unsupported.has(`${method} ${path}`),
  };
}

/** HEAD is served only for what the gateway answers itself: nobody should pay for a body that is not sent. */
const headOf = (found: FoundRoute | undefined): FoundRoute | undefined =>
  found && !isSold(found.offered.operation) ? found : undefined;

function checkPaths(all: readonly OfferedOperation[]): void {
  const taken = new Map<string, string>();
  const problems: string[] = [];
  for (const { operation, path } of all) {
    const { id, method } = operation;
    // Two paths that differ only in the name of a parameter are the same path.
    const place = `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`;
    const owner = taken.get(place);
    if (owner === undefined) taken.set(place, id);
    else problems.push(`${method} ${path}: ${id} has the path of ${owner}; one path has one operation`);
  }
  if (problems.length > 0) throw new ConfigError("The catalogue", problems);
}

function patternOf({ path, operation }: OfferedOperation): RegExp {
  const parts = path.split(/\{(\w+)\}/);
  const source = parts.map((part, at) => {
    if (at % 2 === 0) return RegExp.escape(part);
    const behind = parts[at + 1] ?? "";
    return takesSlashes(operation, behind) ? `(?<${part}>.+)` : `(?<${part}>[^/]+)`;
  });
  return new RegExp(`^${source.join("")}$`);
}

/**
 * A parameter is one segment. Names of models may hold slashes, where a verb follows that tells their end, or the
 * operation says that nothing else comes behind them.
 */
export const takesSlashes = ({ slashesAtEnd }: Operation, behind: string): boolean =>
  behind.startsWith(":") || (behind === "" && slashesAtEnd === true);

/** Undefined when an escape is invalid: then there is no such path. */
function unescaped(params: FoundRoute["params"]): FoundRoute["params"] | undefined {
  if (!Object.values(params).some((value) => value.includes("%"))) return params;
  try {
    return Object.fromEntries(
      Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]),
    );
  } catch {
    return undefined;
  }
}
