import { bindNames, type Names } from "../operation/names.ts";
import type { Operation } from "../operation/operation.ts";
import { keyHeaders, type ErrorDialect, type ModelDialect } from "../platform/dialect.ts";

/** What the clients of a path expect beside its answers. */
export interface Conventions {
  /** In whose words they are refused. */
  readonly dialect: ErrorDialect;
  /** Whether a 400 tells nothing but a message. */
  readonly messageOnly400: boolean;
  /** Where their key may come, beside a bearer. */
  readonly keyHeader: (typeof keyHeaders)[ModelDialect];
  /** Whether Anthropic's official client is among them: it knows a request's id by another name. */
  readonly hasAnthropicClients: boolean;
}

/**
 * Finds the conventions of a path. The path alone decides, and not the method, nor whether anything is sold there: a
 * client is told in its own words, too, that there is nothing.
 */
export function createConventions(
  declared: readonly Operation[],
  names: Names,
): (path: string) => Conventions {
  const roots = declared.flatMap((operation) => rootOf(operation, names)).toSorted(longerFirst);
  const underRoot = (path: string): Conventions => {
    for (const { root, conventions } of roots) if (path.startsWith(root)) return conventions;
    return ours;
  };
  const ofPaths = new Map<string, Conventions>();
  for (const { path: written, shapeOf400 } of declared) {
    const path = bindNames(written, names);
    const messageOnly400 = shapeOf400 === "message_only" || ofPaths.get(path)?.messageOnly400 === true;
    ofPaths.set(path, { ...underRoot(path), messageOnly400 });
  }
  return (path) => ofPaths.get(path) ?? underRoot(path);
}

/** By header for a key, how the paths begin where it is read; a root below another one goes without saying. */
export function findKeyRoots(
  declared: readonly Operation[],
  names: Names,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { root, conventions } of declared.flatMap((one) => rootOf(one, names)).toSorted(shorterFirst)) {
    const { keyHeader } = conventions;
    if (keyHeader === undefined) continue;
    const roots = found.get(keyHeader) ?? [];
    if (!roots.some((above) => root.startsWith(above))) found.set(keyHeader, [...roots, root]);
  }
  return found;
}

const ours: Conventions = {
  dialect: "plain",
  messageOnly400: false,
  keyHeader: undefined,
  hasAnthropicClients: false,
};

interface Root {
  readonly root: string;
  readonly conventions: Conventions;
}

function rootOf({ dialects, dialectsUnder, path }: Operation, names: Names): Root[] {
  if (!dialects) return [];
  const [dialect] = dialects;
  const [root = ""] = bindNames(dialectsUnder ?? path, names).split("{");
  const conventions: Conventions = {
    dialect,
    messageOnly400: false,
    keyHeader: keyHeaders[dialect],
    hasAnthropicClients: dialects.includes("anthropic"),
  };
  return [{ root, conventions }];
}

/** The longer of two roots of one path is the nearer one. */
const longerFirst = (a: Root, b: Root): number => b.root.length - a.root.length;

const shorterFirst = (a: Root, b: Root): number => longerFirst(b, a);
