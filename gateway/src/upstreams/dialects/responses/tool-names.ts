// What a caller's tools are called: by itself, and by their vendor, who knows no namespaces. One of a namespace bears both names
// there.

import { isJsonObject, listOrEmpty, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { Inexpressible, type DeclaredTool } from "../dialect.ts";

export const joinedName = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : namespace + (namespace.endsWith("__") ? "" : "__") + name;

/** By the names under which their vendor knows them. */
export function declaredTools(body: JsonObject): ReadonlyMap<string, DeclaredTool> {
  const declared = listsOfTools(body).flatMap(({ tools }) => declaredIn(tools));
  return new Map(declared.map((tool) => [joinedName(tool.name, tool.namespace), tool]));
}

export const namesOfTools = (body: JsonObject): readonly string[] => [...declaredTools(body).keys()];

/** Of two tools that their vendor knew by one name, nobody could tell which was called. */
export function checkNamesApart(lists: readonly ListOfTools[]): void {
  const known = new Map<string, DeclaredTool>();
  for (const { tools, path } of lists) {
    for (const tool of declaredIn(tools)) {
      const joined = joinedName(tool.name, tool.namespace);
      const { name, namespace } = known.get(joined) ?? tool;
      if (name !== tool.name || namespace !== tool.namespace) {
        throw new Inexpressible(
          path,
          `two tools would be called ${JSON.stringify(joined)} for this model; rename one`,
        );
      }
      known.set(joined, tool);
    }
  }
}

export interface ListOfTools {
  readonly tools: unknown;
  readonly path: string;
}

/** Newer agents tell their tools in an item, which stands with what was said at the time. */
export function listsOfTools({ tools, input }: JsonObject): readonly ListOfTools[] {
  const added = listOrEmpty(input).flatMap((item, at) =>
    isJsonObject(item) && item["type"] === "additional_tools"
      ? [{ tools: item["tools"], path: `input[${at}].tools` }]
      : [],
  );
  return [{ tools, path: "tools" }, ...added];
}

const declaredIn = (tools: unknown, namespace?: string): readonly DeclaredTool[] =>
  listOrEmpty(tools).flatMap((item): readonly DeclaredTool[] => {
    const { type, name, tools: within } = objectOrEmpty(item);
    if (typeof name !== "string") return [];
    if (type === "namespace") return namespace === undefined ? declaredIn(within, name) : [];
    return type === "function" || type === "custom" ? [{ type, name, namespace }] : [];
  });
