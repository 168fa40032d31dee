// What a caller's tools are called: by itself, and by their vendor, who knows no namespaces. One of a namespace bears both names
// there.

import { listOrEmpty, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { Inexpressible, type DeclaredTool } from "../dialect.ts";
import { isRunByCaller, listsTools, searchType } from "./tool-search.ts";

export const joinedName = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : namespace + (namespace.endsWith("__") ? "" : "__") + name;

/** By the names under which their vendor knows them. */
export function declaredTools(body: JsonObject): ReadonlyMap<string, DeclaredTool> {
  const declared = listsOfTools(body).flatMap(({ tools }) => declaredIn(tools));
  return new Map(declared.map((tool) => [joinedName(tool.name, tool.namespace), tool]));
}

/** As their vendor is told of them. */
export const namesIn = (tools: unknown): readonly string[] =>
  declaredIn(tools).map(({ name, namespace }) => joinedName(name, namespace));

export const namesOfTools = (body: JsonObject): readonly string[] => [...declaredTools(body).keys()];

/** Of two tools that their vendor knew by one name, nobody could tell which was called. */
export function checkNamesApart(lists: readonly ListOfTools[]): void {
  const known = new Map<string, DeclaredTool>();
  for (const { tools, path } of lists) {
    for (const tool of declaredIn(tools)) {
      const joined = joinedName(tool.name, tool.namespace);
      const { type, name, namespace } = known.get(joined) ?? tool;
      const isOneSearch = (type === searchType) === (tool.type === searchType);
      if (name !== tool.name || namespace !== tool.namespace || !isOneSearch) {
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

/** Newer agents tell their tools in an item, which stands with what was said at the time, or with what a search has found. */
export function listsOfTools({ tools, input }: JsonObject): readonly ListOfTools[] {
  const added = listOrEmpty(input).flatMap((item, at) =>
    listsTools(item) ? [{ tools: item["tools"], path: `input[${at}].tools` }] : [],
  );
  return [{ tools, path: "tools" }, ...added];
}

const declaredIn = (tools: unknown, namespace?: string): readonly DeclaredTool[] =>
  listOrEmpty(tools).flatMap((item): readonly DeclaredTool[] => {
    const tool = objectOrEmpty(item);
    const { type, name, tools: within } = tool;
    if (type === searchType)
      return isRunByCaller(tool) ? [{ type, name: searchType, namespace: undefined }] : [];
    if (typeof name !== "string") return [];
    if (type === "namespace") return namespace === undefined ? declaredIn(within, name) : [];
    return type === "function" || type === "custom" ? [{ type, name, namespace }] : [];
  });
