import type { Config } from "../../../../config/config.ts";
import { nameAt } from "../../../../offer/name-at.ts";
import type { Offer } from "../../../../offer/offer.ts";
import type { VendorListing } from "../../../../operation/vendor-listing.ts";
import type { CliParts } from "../../cli-parts.ts";

/** What a vendor's own word says about how it is configured here. */
export interface AskedVendor {
  readonly name: string;
  readonly verdict: "key_accepted" | "key_refused" | "no_key" | "unproven" | "cannot_be_checked";
  readonly sentence: string;
  /** Offered here under names that the vendor does not list. It may serve them all the same, so it is no mistake. */
  readonly unlistedModels: readonly string[];
}

/** Asks all of them at once, with what their calls would carry. */
export const askVendors = (
  config: Config,
  offer: Offer,
  { askListing }: CliParts,
): Promise<readonly AskedVendor[]> =>
  Promise.all(
    [...config.upstreams].map(async ([name, upstream]) => {
      const listing = await askListing({ name, ...upstream, sandbox: false });
      const unlistedModels = listing.kind === "listed" ? unlisted(modelsAt(name, offer), listing) : [];
      const { verdict, sentence } = judge(listing, upstream);
      return { name, verdict, sentence: sentence + mention(unlistedModels), unlistedModels };
    }),
  );

function judge(
  listing: VendorListing,
  { protocol, key }: { readonly protocol: string; readonly key: string },
): Pick<AskedVendor, "verdict" | "sentence"> {
  switch (listing.kind) {
    case "no_listing":
      return {
        verdict: "cannot_be_checked",
        sentence: `cannot be checked; protocol ${protocol} has no free list of models.`,
      };
    case "unclear":
      return { verdict: "cannot_be_checked", sentence: `cannot be checked; ${listing.why}.` };
    case "key_refused":
      return {
        verdict: "key_refused",
        sentence:
          key === ""
            ? `refuses to answer without a key (${listing.status}).`
            : `key refused (${listing.status}).`,
      };
    case "listed":
      if (key === "") return { verdict: "no_key", sentence: "answers without a key." };
      return listing.forAnybody
        ? { verdict: "unproven", sentence: "lists its models to anybody, so the key was not checked." }
        : { verdict: "key_accepted", sentence: "key accepted." };
  }
}

/** All that are offered through this upstream, by the names that it knows. */
const modelsAt = (upstream: string, { operations }: Offer): ReadonlySet<string> =>
  new Set(
    [...operations.values()].flatMap(({ models }) =>
      [...models.values()]
        .filter(({ upstreams }) => upstreams.some(({ name }) => name === upstream))
        .map((model) => nameAt(model, upstream)),
    ),
  );

function unlisted(
  offered: ReadonlySet<string>,
  { models, complete }: Extract<VendorListing, { kind: "listed" }>,
): string[] {
  if (!complete) return [];
  const known = new Set([...models].flatMap((name) => [name, undated(name)]));
  return [...offered].filter((name) => !known.has(name) && !known.has(name.replace(/-latest$/, "")));
}

/** Vendors list `gpt-x-2026-01-31`, and serve it under `gpt-x` and `gpt-x-latest` too. */
const undated = (name: string): string => name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, "");

/** Enough to see what is meant; `--json` has all of them. */
const namesShown = 5;

function mention(names: readonly string[]): string {
  if (names.length === 0) return "";
  const more = names.length > namesShown ? ` and ${names.length - namesShown} more` : "";
  return ` Not in its list, though offered here: ${names.slice(0, namesShown).join(", ")}${more}.`;
}
