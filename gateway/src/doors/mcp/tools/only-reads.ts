import type { Offer } from "../../../offer/offer.ts";
import { objectOrEmpty } from "../../../platform/json.ts";
import { linkScopes } from "./operation-facts.ts";

/**
 * Whether everything that a use or a batch asks for is free and changes nothing. To run that again does no harm, and an
 * old answer would: a client that resumes its session counts its ids from the start, and asks how things stand now.
 */
export function onlyReads(given: unknown, offer: Offer): boolean {
  const { calls = [given] } = objectOrEmpty(given);
  return Array.isArray(calls) && calls.every((call) => isFreeRead(call, offer));
}

/** Nobody has looked at the arguments yet, so they may be anything. */
function isFreeRead(call: unknown, { operations }: Offer): boolean {
  const { operation_id: id } = objectOrEmpty(call);
  const operation = typeof id === "string" ? operations.get(id)?.operation : undefined;
  return operation?.price.kind === "free" && operation.method === "GET" && !linkScopes(operation);
}
