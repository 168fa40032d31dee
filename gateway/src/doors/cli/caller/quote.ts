import { lineInWords } from "../../../prices/line-in-words.ts";
import { defineCommand } from "../command.ts";
import { table } from "../output.ts";
import { microsAsUsd } from "./micros.ts";
import { withOperation } from "./open-client.ts";
import { argumentFlags, readArguments, withTheOtherFlag } from "./operation-arguments.ts";

export const quote = defineCommand({
  words: ["quote"],
  operand: "OPERATION_ID",
  summary: "says what a call would cost, without making it",
  flags: argumentFlags,
  run: async ({ operand: id, flags }, parts) => {
    const args = readArguments(flags);
    const estimate = await withOperation(parts, id, (client) => client.quote(id, args)).catch(
      (error: unknown) => {
        throw withTheOtherFlag(error, flags);
      },
    );
    const { estimate_kind: kind, estimated_cost_micros_usd: usual, max_cost_micros_usd: most } = estimate;
    return {
      lines: [
        `${kind === "exact" ? "Exactly" : "About"} ${microsAsUsd(usual)}, at most ${microsAsUsd(most)}.`,
        ...table(
          ["unit", "quantity", "list price", "cost"],
          estimate.breakdown.map((line) => [
            line.unit,
            String(line.quantity),
            lineInWords(line).price,
            microsAsUsd(line.cost_micros_usd),
          ]),
          "Nothing is counted.",
        ),
      ],
      json: estimate,
      exitCode: 0,
    };
  },
});
