import { withAttemptsSoFar } from "../../../self-service/attempts-so-far.ts";
import { receiptOf, type Receipt } from "../../../ledger/receipt.ts";
import { lineInWords } from "../../../prices/line-in-words.ts";
import { microsAsUsd } from "../caller/micros.ts";
import { withClient } from "../caller/open-client.ts";
import type { CliParts } from "../cli-parts.ts";
import { CommandFailed, defineCommand, type Answer } from "../command.ts";
import { fieldLines, inOneLine, table } from "../output.ts";
import { withStore } from "../with-store.ts";

export const receipt = defineCommand({
  words: ["receipt"],
  operand: "REQUEST_ID",
  summary:
    "shows what a call held, used and cost, and why: one of its account's with a key in TOLLGATE_KEY, any without",
  flags: {},
  run: async ({ operand }, parts) => {
    const hasKey = (parts.caller().apiKey ?? "") !== "";
    if (!hasKey && (await parts.hasData())) return receiptFromBooks(operand, parts);
    if (!hasKey) {
      throw new CommandFailed(
        "There is no data here. Put a key into the environment as TOLLGATE_KEY to ask its gateway, " +
          "or, as the operator, run this where the server runs, or set TOLLGATE_DATA or TOLLGATE_STORE.",
      );
    }
    const found = await withClient(parts, (client) => client.receipt(operand));
    return { lines: receiptLines(found, {}), json: found, exitCode: 0 };
  },
});

/** Whoever can read the data may see every call in it, and is told whose it was. */
const receiptFromBooks = (callId: string, parts: CliParts): Promise<Answer> =>
  withStore(parts, async (store) => {
    const call = await store.calls.findAny(callId);
    if (!call) {
      throw new CommandFailed(
        `There is no call ${callId} in the books. One that was refused before anything was held leaves no trace in them.`,
      );
    }
    const [account, key] = await Promise.all([
      store.accounts.find(call.accountId),
      store.keys.find(call.keyId),
    ]);
    const found = receiptOf(await withAttemptsSoFar(call, store.tasks));
    const whose = {
      account: `${call.accountId} (${account?.name ?? "unknown"})`,
      key: `${call.keyId} (${key?.name ?? "unknown"})`,
    };
    return {
      lines: receiptLines(found, whose),
      json: {
        account_id: call.accountId,
        account_name: account?.name ?? null,
        key_name: key?.name ?? null,
        ...found,
      },
      exitCode: 0,
    };
  });

const receiptLines = (found: Receipt, whose: Readonly<Record<string, string>>): string[] => [
  ...fieldLines({
    request: found.request_id,
    ...whose,
    ...clientLine(found),
    operation: found.operation_id + (found.model === null ? "" : ` (${found.model})`),
    made: found.created_at,
    status: `${found.status}${found.outcome === null ? "" : `, ${found.outcome}`}`,
    upstreams: found.attempts.map(({ upstream, outcome }) => `${upstream}: ${outcome}`).join(", ") || "none",
    held: microsAsUsd(found.held_micros_usd),
    value: microsAsUsd(found.usage_value_micros_usd),
    charged: microsAsUsd(found.charged_micros_usd),
  }),
  "",
  ...table(
    ["unit", "quantity", "list price", "value"],
    found.prices.map((line) => {
      const { price, value } = lineInWords(line);
      return [line.unit, String(line.quantity), price, value];
    }),
    "Nothing was metered.",
  ),
  "",
  found.explanation,
];

/** Strangers chose the name, and a terminal obeys what is no letter. */
function clientLine({ client }: Receipt): Readonly<Record<string, string>> {
  return client ? { client: `${client.grant_id} (${inOneLine(client.name)})` } : {};
}
