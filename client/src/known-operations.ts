import { misuse } from "./errors.ts";
import type { OperationFacts, OperationTable } from "./operation-facts.ts";
import { operations, type Inputs, type OperationId, type Outputs } from "./operations.ts";

/** The ids that a client with these operations of its own knows. */
export type KnownId<Own extends OperationTable> = OperationId | (keyof Own & string);

export type InputOf<Own extends OperationTable, Id extends KnownId<Own>> = Id extends keyof Own
  ? Own[Id] extends OperationFacts<infer Input>
    ? Input
    : never
  : Id extends OperationId
    ? Inputs[Id]
    : never;

export type OutputOf<Own extends OperationTable, Id extends KnownId<Own>> = Id extends keyof Own
  ? Own[Id] extends OperationFacts<object, infer Output>
    ? Output
    : never
  : Id extends OperationId
    ? Outputs[Id]
    : never;

/** Finds what must be known of an operation; those of one's own come before those that ship. */
export function createFactsOf(own: OperationTable): (id: string) => OperationFacts<object> {
  for (const [id, facts] of Object.entries(own)) checkFacts(id, facts);
  const known: OperationTable = { ...operations, ...own };
  return (id) => {
    const facts = Object.hasOwn(known, id) ? known[id] : undefined;
    // Programs without types can ask for anything, and for what only a newer gateway has.
    if (!facts) throw misuse("unknown_operation", `This client knows no operation "${id}".`);
    return facts;
  };
}

/**
 * A table may come from a file or from elsewhere. The key goes wherever the path leads, and whether a call is paid and
 * keyed decides what is sent again; so nothing of this is guessed.
 */
function checkFacts(id: string, { method, path, billed, keyed }: OperationFacts<object>): void {
  const isWhole =
    (method === "GET" || method === "POST") &&
    typeof path === "string" &&
    path.startsWith("/") &&
    typeof billed === "boolean" &&
    typeof keyed === "boolean";
  if (!isWhole) {
    throw misuse("invalid_operation", `operations: "${id}" needs a method, a path from /, billed and keyed.`);
  }
}
