import { isJsonObject, listOrEmpty, objectOrEmpty, type JsonObject } from "../platform/json.ts";
import type { Contract } from "./create-contract.ts";

/** An operation as it stands in a contract. */
export interface ContractOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly described: JsonObject;
}

/** What a contract says. */
export const documentOf = ({ bytes }: Pick<Contract, "bytes">): JsonObject =>
  // The bytes of a contract were written by a gateway as an object, and whoever holds them compared their hash.
  JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;

export function operationsOf(document: JsonObject): ContractOperation[] {
  return Object.entries(objectIn(document, "paths")).flatMap(([path, methods]) =>
    Object.entries(objectOrEmpty(methods)).flatMap(([method, described]) =>
      isJsonObject(described) && typeof described["operationId"] === "string"
        ? [{ id: described["operationId"], method, path, described }]
        : [],
    ),
  );
}

/** One operation with everything it refers to, as a document of its own; undefined when there is none of this id. */
export function pickOperation(document: JsonObject, id: string): JsonObject | undefined {
  const found = operationsOf(document).find((operation) => operation.id === id);
  if (!found) return undefined;
  const { tags, security } = found.described;
  const wanted = new Set<string>();
  collect(found.described, document, wanted);
  for (const scheme of namesIn(security)) wanted.add(`#/components/securitySchemes/${scheme}`);
  return {
    ...document,
    tags: listIn(document, "tags").filter((tag) =>
      listOrEmpty(tags).includes(isJsonObject(tag) && tag["name"]),
    ),
    paths: { [found.path]: { [found.method]: found.described } },
    components: keptComponents(document, wanted),
  };
}

/** What a reference in the document points to; anything else is itself. */
export function resolve(document: JsonObject, value: unknown): JsonObject {
  if (!isJsonObject(value)) return {};
  const reference = value["$ref"];
  if (typeof reference !== "string") return value;
  const [, , kind = "", name = ""] = reference.split("/");
  return objectIn(objectIn(objectIn(document, "components"), kind), name);
}

export function objectIn(from: JsonObject, name: string): JsonObject {
  const value = Object.hasOwn(from, name) ? from[name] : undefined;
  return objectOrEmpty(value);
}

export const listIn = (from: JsonObject, name: string): readonly unknown[] => listOrEmpty(from[name]);

const namesIn = (security: unknown): string[] =>
  listOrEmpty(security).flatMap((one) => (isJsonObject(one) ? Object.keys(one) : []));

/** Adds every reference that can be reached from here. */
function collect(value: unknown, document: JsonObject, wanted: Set<string>): void {
  if (Array.isArray(value)) for (const inner of value) collect(inner, document, wanted);
  if (!isJsonObject(value)) return;
  const reference = value["$ref"];
  if (typeof reference === "string" && !wanted.has(reference)) {
    wanted.add(reference);
    collect(resolve(document, value), document, wanted);
  }
  for (const inner of Object.values(value)) collect(inner, document, wanted);
}

const keptComponents = (document: JsonObject, wanted: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    Object.entries(objectIn(document, "components"))
      .map(([kind, parts]): [string, JsonObject] => [
        kind,
        Object.fromEntries(
          Object.entries(objectOrEmpty(parts)).filter(([name]) => wanted.has(`#/components/${kind}/${name}`)),
        ),
      ])
      .filter(([, parts]) => Object.keys(parts).length > 0),
  );
