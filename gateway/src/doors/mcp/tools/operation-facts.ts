// What agents want to know of an operation beyond its schemas.

import { z } from "zod";
import type { Offer } from "../../../offer/offer.ts";
import { isAboutTask, isSold, type Operation } from "../../../operation/operation.ts";
import { isJsonObject, type JsonObject } from "../../../platform/json.ts";

/** It begins a task; its answer is the task's handle and not the work. */
export const beginsTask = (operation: Operation): boolean =>
  isSold(operation) && operation.task !== undefined;

/** The operation through which tasks are asked about. */
export const pollOperationId = (offer: Offer): string | undefined =>
  [...offer.operations.values()].find(
    ({ operation }) => isAboutTask(operation) && operation.aboutTask === "state",
  )?.operation.id;

/** The scopes that an operation needs of a linked platform account; undefined when it acts for nobody. */
export const linkScopes = (operation: Operation): readonly string[] | undefined =>
  isSold(operation) ? operation.link?.scopes : undefined;

/** The JSON Schema of the result that a good answer becomes, where that is written down. */
export function outputSchema({ response }: Operation): JsonObject | undefined {
  if (!response) return undefined;
  const {
    $schema: _,
    $defs = {},
    ...schema
  } = z.toJSONSchema(response, {
    io: "output",
    unrepresentable: "any",
  });
  const answer = writtenOut(schema, $defs) as JsonObject;
  return answer["type"] === "object" ? answer : inResult(answer);
}

/** A result has to be an object, so any other answer comes inside of one: as JSON or, like streams of events, as text. */
const inResult = (answer: JsonObject): JsonObject => ({
  type: "object",
  properties: {
    value: answer,
    text: { type: "string", description: "The answer as it came, where it is not JSON." },
  },
});

/** Named parts in their places: not every client follows references. No answer of ours contains itself. */
function writtenOut(schema: unknown, named: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(schema)) return schema.map((part) => writtenOut(part, named));
  if (!isJsonObject(schema)) return schema;
  const { $ref: reference, ...own } = schema;
  const name = typeof reference === "string" ? reference.split("/").at(-1) : undefined;
  const whole = name === undefined ? schema : { ...(named[name] as JsonObject), ...own };
  return Object.fromEntries(
    Object.entries(whole)
      .filter(([member, value]) => member !== "id" || typeof value !== "string")
      .map(([member, value]) => [member, writtenOut(value, named)]),
  );
}
