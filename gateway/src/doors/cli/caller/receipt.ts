import { defineCommand } from "../command.ts";
import { fieldLines, table } from "../output.ts";
import { microsAsUsd } from "./micros.ts";
import { withClient } from "./open-client.ts";

export const receipt = defineCommand({
  words: ["receipt"],
  operand: "REQUEST_ID",
  summary: "shows what a call held, used and cost, and why",
  flags: {},
  run: async ({ operand }, parts) => {
    const found = await withClient(parts, (client) => client.receipt(operand));
    return {
      lines: [
        ...fieldLines({
          request: found.request_id,
          operation: found.operation_id + (found.model === null ? "" : ` (${found.model})`),
          made: found.created_at,
          status: `${found.status}${found.outcome === null ? "" : `, ${found.outcome}`}`,
          upstreams:
            found.attempts.map(({ upstream, outcome }) => `${upstream}: ${outcome}`).join(", ") || "none",
          held: microsAsUsd(found.held_micros_usd),
          value: microsAsUsd(found.usage_value_micros_usd),
          charged: microsAsUsd(found.charged_micros_usd),
        }),
        "",
        ...table(
          ["unit", "quantity", "each USD"],
          found.prices.map((price) => [price.unit, String(price.quantity), price.unit_price_usd]),
          "Nothing was metered.",
        ),
        "",
        found.explanation,
      ],
      json: found,
      exitCode: 0,
    };
  },
});
