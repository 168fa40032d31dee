import type { ToolDefinition } from "./chat.ts";
import { Inexpressible } from "./dialect.ts";

export interface AllowedTools {
  readonly names: ReadonlySet<string>;
  /** Where the caller names them. */
  readonly path: string;
}

/** Few vendors let a model choose among some of its functions only; what is not declared is called nowhere. */
export function onlyAllowed(
  declared: readonly ToolDefinition[],
  { names, path }: AllowedTools,
): readonly ToolDefinition[] {
  const known = new Set(declared.map(({ name }) => name));
  const unknown = [...names].find((name) => !known.has(name));
  if (unknown !== undefined) throw new Inexpressible(path, `${JSON.stringify(unknown)} is not declared`);
  return declared.filter(({ name }) => names.has(name));
}
