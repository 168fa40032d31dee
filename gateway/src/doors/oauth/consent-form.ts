// The bounds that a person sets for a client: as the form proposes them, and as it comes back.

import type { McpConfig } from "../../config/mcp-config.ts";
import type { SpendPolicy } from "../../grants/grants.ts";
import { amountMicrosMax, microsFromUsd, usdFromMicros, type Micros } from "../../platform/money.ts";
import { dayMs } from "../../platform/utc-day.ts";
import type { ConsentFields, ConsentProblem } from "./pages/consent-page.ts";

export const proposedFields = (config: McpConfig, asksToSpend: boolean): ConsentFields => ({
  spend: asksToSpend,
  perCallUsd: usdFromMicros(config.autoApproveMicros),
  perDayUsd: usdFromMicros(config.grantPerDayMicros),
  days: String(config.grantDays),
});

/** The usual numbers, and the operator's own among them. */
export const daysOffered = ({ grantDays }: McpConfig): readonly string[] =>
  [...new Set([1, 7, 30, 90, 365, grantDays])].toSorted((one, other) => one - other).map(String);

export const readFields = (form: URLSearchParams): ConsentFields => ({
  spend: form.get("spend") === "yes",
  perCallUsd: form.get("per_call_usd") ?? "",
  perDayUsd: form.get("per_day_usd") ?? "",
  days: form.get("days") ?? "",
});

/** The bounds that the form sets, or a sentence about what cannot be used. */
export function readPolicy(
  fields: ConsentFields,
  spends: boolean,
  config: McpConfig,
  nowMs: number,
): SpendPolicy | ConsentProblem {
  if (!daysOffered(config).includes(fields.days))
    return { field: "days", sentence: "Choose until when the client may use your account." };
  const expiresAtMs = nowMs + Number(fields.days) * dayMs;
  if (!spends) return { perCallMicros: 0n, perDayMicros: 0n, expiresAtMs };
  const perCallMicros = readUsd(fields.perCallUsd);
  const perDayMicros = readUsd(fields.perDayUsd);
  if (perCallMicros === undefined) {
    const sentence = "The amount for one call is not an amount in USD, such as 0.50.";
    return { field: "per_call_usd", sentence };
  }
  if (perDayMicros === undefined) {
    const sentence = "The amount for one day is not an amount in USD, such as 5.";
    return { field: "per_day_usd", sentence };
  }
  if (perCallMicros > amountMicrosMax) return tooMuch("per_call_usd", "one call");
  if (perDayMicros > amountMicrosMax) return tooMuch("per_day_usd", "one day");
  return { perCallMicros, perDayMicros, expiresAtMs };
}

function readUsd(written: string): Micros | undefined {
  const micros = microsFromUsd(written.trim());
  return micros === undefined || micros < 0n ? undefined : micros;
}

const tooMuch = (field: ConsentProblem["field"], span: string): ConsentProblem => ({
  field,
  sentence: `The amount for ${span} can be ${usdFromMicros(amountMicrosMax)} USD at most.`,
});
