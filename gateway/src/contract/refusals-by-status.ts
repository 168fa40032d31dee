import type { Operation } from "../operation/operation.ts";
import { refusals, type RefusalCode, type RefusalStatus } from "../platform/refusals.ts";
import { refusalsOf } from "./refusals-of.ts";

/** The refusals of an operation that come with one status, and what they have in common. */
export interface RefusalsOfStatus {
  readonly status: RefusalStatus;
  readonly meaning: string;
  readonly codes: readonly RefusalCode[];
}

/** By rising status. */
export const refusalsByStatus = (operation: Operation): RefusalsOfStatus[] =>
  [...Map.groupBy(refusalsOf(operation), (code) => refusals[code].status)]
    .map(([status, codes]) => ({ status, meaning: meanings[status], codes }))
    .toSorted((a, b) => a.status - b.status);

/** Of all other statuses, where there is an upstream that may answer with them. */
export const upstreamMeaning =
  "Another answer of the upstream's, passed on with its status, body and content type.";

const meanings: Readonly<Record<RefusalStatus, string>> = {
  400: "The request is not valid; the message names the field.",
  401: "The key is missing or not valid.",
  402: "The call could cost more than it may.",
  403: "The key may not do this.",
  404: "There is nothing of that name here.",
  405: "What is here has no such method.",
  408: "The body did not arrive in time.",
  409: "The idempotency key is taken.",
  413: "The body is too large.",
  415: "The body's content type or encoding is not supported.",
  426: "Another protocol is asked for than is spoken here.",
  429: "A limit is reached; wait as long as Retry-After says.",
  431: "The headers are too large.",
  500: "A fault of the gateway itself.",
  502: "The provider could not be reached or broke off.",
  503: "A dependency is not available; nothing was charged.",
};
