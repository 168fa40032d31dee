import type { Credential } from "../../../keys/keys.ts";
import { mayUse } from "../../../offer/may-use.ts";
import { capMicrosFromNumber } from "../../../platform/money.ts";
import type { OfferedOperation } from "../../../offer/offer.ts";
import { changesFreely } from "../../../operation/operation.ts";
import { beginsTask, linkScopes } from "./operation-facts.ts";
import { estimateOf, pricingOf } from "./pricing.ts";
import type { SearchIndex } from "../search/search-index.ts";

export interface SearchArguments {
  readonly query: string;
  readonly category?: string;
  readonly max_price_usd?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

const limitUsual = 10;

/** A page of matches among what the key may use; undefined when the cursor is not one of ours. */
export function searchOperations(
  { query, category, max_price_usd: most, limit = limitUsual, cursor }: SearchArguments,
  index: SearchIndex,
  caller: Credential,
) {
  const { planMultiplierPpm: multiplierPpm } = caller;
  const start = cursor === undefined ? 0 : readCursor(cursor);
  if (start === undefined) return undefined;
  const mostMicros = most === undefined ? undefined : capMicrosFromNumber(most);
  const found = index
    .search(query)
    .filter((offered) => mayUse(caller, offered))
    .filter(({ operation }) => category === undefined || operation.category === category)
    .filter((offered) => mostMicros === undefined || estimateOf(offered, multiplierPpm) <= mostMicros);
  const end = start + limit;
  return {
    results: found.slice(start, end).map((offered) => card(offered, multiplierPpm)),
    total: found.length,
    ...(end < found.length ? { next_cursor: writeCursor(end) } : {}),
  };
}

const card = (offered: OfferedOperation, multiplierPpm: bigint) => ({
  ...headline(offered),
  pricing: pricingOf(offered, multiplierPpm),
});

/** What is said about an operation wherever it is named. All of it comes from the catalogue, none from upstreams. */
export const headline = ({ operation }: OfferedOperation) => ({
  operation_id: operation.id,
  title: operation.title,
  summary: operation.summary,
  category: operation.category,
  side_effects: linkScopes(operation) || changesFreely(operation) ? ("write" as const) : ("none" as const),
  asynchronous: beginsTask(operation),
  definition: operation.definition ?? ("complete" as const),
});

// A cursor says where a page begins and nothing else, so it needs no owner and no seal.
const writeCursor = (start: number): string => Buffer.from(`from ${start}`).toString("base64url");

function readCursor(cursor: string): number | undefined {
  const [, start] = /^from (\d{1,6})$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  return start === undefined ? undefined : Number(start);
}
