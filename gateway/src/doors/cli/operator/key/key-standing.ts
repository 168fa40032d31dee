import { budgetWindowEndMs, windowWords } from "../../../../keys/budget-window.ts";
import type { BudgetUse, Key } from "../../../../keys/keys.ts";
import { liveSecrets } from "../../../../keys/live-secrets.ts";
import type { Store } from "../../../../store/store.ts";
import { isoTime } from "../../../../platform/clock.ts";
import { lifeOf, type Life } from "../../../../platform/life.ts";
import { patternsText } from "./key-allowed.ts";
import { fieldLines, isoTimeOrNull, usd } from "../../output.ts";

/** A key as it stands at one moment. */
export interface KeyStanding {
  readonly key: Key;
  readonly state: Life;
  readonly liveSecrets: Key["secrets"];
  readonly use: BudgetUse | undefined;
  readonly budgetResetsAtMs: number | undefined;
}

export async function standingOf(key: Key, store: Store, nowMs: number): Promise<KeyStanding> {
  const { budget } = key;
  return {
    key,
    state: lifeOf(key, nowMs),
    liveSecrets: liveSecrets(key, nowMs),
    use: budget && (await store.keys.budgetUse(key.id, budget.window, nowMs)),
    budgetResetsAtMs: budget && budgetWindowEndMs(budget.window, nowMs),
  };
}

export const keyLines = (standing: KeyStanding): string[] =>
  fieldLines({
    key: standing.key.id,
    account: standing.key.accountId,
    name: standing.key.name,
    scope: standing.key.scope,
    state: standing.state,
    budget: budgetText(standing),
    models: patternsText(standing.key.allowedModels),
    operations: patternsText(standing.key.allowedOperations),
    expires: isoTimeOrNull(standing.key.expiresAtMs) ?? "never",
    "ends in": endings(standing),
  });

export const endings = ({ liveSecrets }: KeyStanding): string =>
  liveSecrets.map(({ last4 }) => last4).join(", ");

export function budgetText({ key: { budget }, use }: KeyStanding): string {
  if (!budget || !use) return "none";
  return `${usd(budget.limitMicros)} ${windowWords[budget.window]}, ${usd(use.spentMicros)} spent`;
}

export const keyJson = ({ key, state, liveSecrets, use, budgetResetsAtMs }: KeyStanding) => ({
  key_id: key.id,
  account_id: key.accountId,
  name: key.name,
  scope: key.scope,
  state,
  budget:
    key.budget && use
      ? {
          window: key.budget.window,
          limit_micros_usd: Number(key.budget.limitMicros),
          spent_micros_usd: Number(use.spentMicros),
          held_micros_usd: Number(use.heldMicros),
          resets_at: isoTimeOrNull(budgetResetsAtMs),
        }
      : null,
  allowed_models: key.allowedModels ?? null,
  allowed_operations: key.allowedOperations ?? null,
  created_at: isoTime(key.createdAtMs),
  expires_at: isoTimeOrNull(key.expiresAtMs),
  revoked_at: isoTimeOrNull(key.revokedAtMs),
  secrets: liveSecrets.map((secret) => ({
    last4: secret.last4,
    created_at: isoTime(secret.createdAtMs),
    expires_at: secret.expiresAtMs === undefined ? null : isoTime(endOfSecretMs(secret.expiresAtMs, key)),
  })),
});

/** A rotated secret works until its grace ends, or its key. */
export const endOfSecretMs = (graceEndsAtMs: number, { expiresAtMs = Infinity }: Key): number =>
  Math.min(graceEndsAtMs, expiresAtMs);
