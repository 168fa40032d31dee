// What agents want to know of an operation beyond its schemas. Declarations say these things in members that only some
// kinds of operations have, so each is looked for by name.

import { z } from "zod";
import type { Offer } from "../../offer/offer.ts";
import type { Operation } from "../../operation/operation.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";

/** It begins a task; its answer is the task's handle and not the work. */
export const beginsTask = (operation: Operation): boolean => "task" in operation;

/** The operation through which tasks are asked about. */
export const pollOperationId = (offer: Offer): string | undefined =>
  [...offer.operations.values()].find(
    ({ operation }) => "aboutTask" in operation && operation.aboutTask === "state",
  )?.operation.id;

/** The scopes that an operation needs of a linked platform account; undefined when it acts for nobody. */
export function linkScopes(operation: Operation): readonly string[] | undefined {
  if (!("link" in operation) || !isJsonObject(operation.link)) return undefined;
  const { scopes } = operation.link;
  return Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : undefined;
}

/** The JSON Schema of a good answer, where it is written down. */
export function outputSchema(operation: Operation): JsonObject | undefined {
  if (!("response" in operation) || !(operation.response instanceof z.ZodType)) return undefined;
  const { $schema: _, ...schema } = z.toJSONSchema(operation.response, {
    io: "output",
    unrepresentable: "any",
  });
  return schema;
}

/** Arguments that work as they stand, where there is an example. */
export function exampleArguments(operation: Operation): JsonObject | undefined {
  if (!("example" in operation) || !isJsonObject(operation.example)) return undefined;
  const parts = ["params", "query", "body"].map((part) => (operation.example as JsonObject)[part]);
  return Object.assign({}, ...parts.filter(isJsonObject)) as JsonObject;
}

export const notesOf = (operation: Operation): string | undefined =>
  "notes" in operation && typeof operation.notes === "string" ? operation.notes : undefined;
