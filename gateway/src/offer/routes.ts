import type { OfferedOperation } from "./offer.ts";

/** An operation, and the parameters that stand in its path. */
export interface Found {
  readonly offered: OfferedOperation;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the operation behind a method and path. Paths match to the letter: a variant is another path. */
export interface Routes {
  readonly find: (method: string, path: string) => Found | undefined;
  /** Whether the request looks for an operation in a place where other services have it. */
  readonly isUnsupported: (method: string, path: string, rawQuery: string) => boolean;
  readonly all: readonly OfferedOperation[];
}

const noParams: Readonly<Record<string, string>> = Object.freeze({});

export function createRoutes(all: readonly OfferedOperation[]): Routes {
  const fixed = new Map<string, Found>();
  const patterns: {
    readonly method: string;
    readonly pattern: RegExp;
    readonly offered: OfferedOperation;
  }[] = [];
  for (const offered of all) {
    const { method } = offered.operation;
    if (!offered.path.includes("{")) fixed.set(`${method} ${offered.path}`, { offered, params: noParams });
    else patterns.push({ method, pattern: patternOf(offered.path), offered });
  }
  const unsupported = new Set(
    all.flatMap(({ operation: { method, unsupportedPath } }) =>
      unsupportedPath === undefined ? [] : [`${method} ${unsupportedPath}`],
    ),
  );
  return {
    all,
    isUnsupported: (method, path, rawQuery) => rawQuery !== "" && unsupported.has(`${method} ${path}`),
    find: (method, path) => {
      const found = fixed.get(`${method} ${path}`);
      if (found) return found;
      for (const { method: wanted, pattern, offered } of patterns) {
        const match = wanted === method ? pattern.exec(path) : null;
        if (match) return { offered, params: match.groups ?? noParams };
      }
      return undefined;
    },
  };
}

function patternOf(path: string): RegExp {
  const source = path
    .split(/\{(\w+)\}/)
    .map((part, at) => (at % 2 === 0 ? RegExp.escape(part) : `(?<${part}>[^/]+)`));
  return new RegExp(`^${source.join("")}$`);
}
