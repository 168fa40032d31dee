// What a key may call, as people write it and as they are shown it.

import { AllowedNames } from "../../../../keys/allowed-names.ts";
import type { KeyChange } from "../../../../keys/keys.ts";
import type { Offer } from "../../../../offer/offer.ts";
import { isSold } from "../../../../operation/operation.ts";
import type { CliParts } from "../../cli-parts.ts";
import { optional, WrongUsage, type GivenFlags } from "../../command.ts";
import { readPatterns } from "../../values.ts";

export const allowedFlags = {
  models: optional("NAMES", "the only models it may call, like gpt-4o,claude-*"),
  operations: optional(
    "NAMES",
    "the only operations of vendors it may call, like chat.*,rerank.create; what is free and about the account stays open",
  ),
} as const;

export const readAllowed = ({ models, operations }: GivenFlags<typeof allowedFlags>) => ({
  ...(models !== undefined && { allowedModels: readPatterns("models", models) }),
  ...(operations !== undefined && { allowedOperations: readPatterns("operations", operations) }),
});

interface ChangeFlags extends GivenFlags<typeof allowedFlags> {
  readonly "all-models": boolean;
  readonly "all-operations": boolean;
}

export function readAllowedChange(flags: ChangeFlags): AllowedChange {
  for (const of of ["models", "operations"] as const) {
    if (flags[of] !== undefined && flags[`all-${of}`])
      throw new WrongUsage(`--${of} and --all-${of} exclude each other.`);
  }
  return {
    ...readAllowed(flags),
    ...(flags["all-models"] && { allowedModels: null }),
    ...(flags["all-operations"] && { allowedOperations: null }),
  };
}

type AllowedChange = Pick<KeyChange, "allowedModels" | "allowedOperations">;

/** Only warns, because a model may come later. But a mistyped name should be noticed here and not by a caller. */
export async function warnOfUnknown(
  { allowedModels, allowedOperations }: AllowedChange,
  parts: CliParts,
): Promise<void> {
  if (!allowedModels && !allowedOperations) return;
  const offer = await parts.loadOffer().then(
    (loaded) => loaded.offer,
    () => undefined,
  );
  const warnings = offer
    ? [
        ...unmatched(allowedModels, modelsOf(offer)).map(
          (name) => `No model on offer now is called ${name}.`,
        ),
        ...unmatched(allowedOperations, operationsOf(offer)).map(
          (name) => `No operation of a vendor that is on offer now is called ${name}.`,
        ),
      ]
    : ["The configuration cannot be used, so these names were not checked; see tollgate doctor."];
  for (const warning of warnings) parts.printError(warning);
}

const soldIn = ({ operations }: Offer) =>
  [...operations.values()].filter(({ operation }) => isSold(operation));
const modelsOf = (offer: Offer): string[] => soldIn(offer).flatMap(({ models }) => [...models.keys()]);
const operationsOf = (offer: Offer): string[] => soldIn(offer).map(({ operation }) => operation.id);

function unmatched(patterns: readonly string[] | null | undefined, names: readonly string[]): string[] {
  return (patterns ?? []).filter((pattern) => {
    const allowed = new AllowedNames([pattern]);
    return !names.some((name) => allowed.has(name));
  });
}

export const patternsText = (patterns: readonly string[] | undefined): string =>
  patterns?.join(", ") ?? "all";

/** A line of a table is no place for a long list. */
const shownMax = 3;

export const shortPatternsText = (patterns: readonly string[] | undefined): string =>
  patterns && patterns.length > shownMax
    ? `${patternsText(patterns.slice(0, shownMax))} and ${patterns.length - shownMax} more`
    : patternsText(patterns);
