import type { Entry, EntryFilter } from "../../../../ledger/entries.ts";
import { isoTime } from "../../../../platform/clock.ts";
import type { Micros } from "../../../../platform/money.ts";
import { CommandFailed, defineCommand, optional, WrongUsage } from "../../command.ts";
import { table, usd } from "../../output.ts";
import { readFigure, readMomentMs } from "../../values.ts";
import { withStore } from "../../with-store.ts";

const limitUsual = "50";
/** What a person scrolls through, and a program takes at once. */
const limitMax = 1_000;

export const accountLedger = defineCommand({
  words: ["account", "ledger"],
  operand: "ACCOUNT_ID",
  summary: "shows what was paid in, corrected and charged, why, and the balances between, newest first",
  flags: {
    limit: optional("N", `how many entries, at most ${limitMax}; ${limitUsual} when absent`),
    before: optional("ID|TIME", "only what was booked before this entry, or before a time like 2030-01-31"),
  },
  run: async ({ operand, flags }, parts) => {
    const limit = readFigure("limit", flags.limit ?? limitUsual);
    if (limit > limitMax) throw new WrongUsage(`--limit takes at most ${limitMax}.`);
    const before = readBefore(flags.before);
    const page = await withStore(parts, (store) => store.accounts.entries(operand, { limit, before }));
    if (!page) throw new CommandFailed(`There is no account ${operand}.`);
    if ("refused" in page)
      throw new CommandFailed(`There is no entry ${flags.before} in the ledger of account ${operand}.`);

    const { entries, hasMore, balanceMicros } = page;
    const last = entries.at(-1);
    const next = hasMore && last ? last.id : undefined;
    const sumMicros = entries.reduce((sum, { amountMicros }) => sum + amountMicros, 0n);
    return {
      lines: [
        ...table(["BOOKED", "KIND", "AMOUNT", "BALANCE", "ABOUT", "ID"], entries.map(rowOf), "No entries."),
        `The entries shown sum to ${usd(sumMicros)}; the balance is ${usd(balanceMicros)}.`,
        ...(next === undefined ? [] : [`There are older ones: --before ${asTyped(next)}`]),
      ],
      json: {
        account_id: operand,
        balance_micros_usd: Number(balanceMicros),
        sum_micros_usd: Number(sumMicros),
        entries: entries.map(entryJson),
        has_more: hasMore,
        next_before: next ?? null,
      },
      exitCode: 0,
    };
  },
});

function readBefore(written: string | undefined): EntryFilter["before"] {
  if (written === undefined) return undefined;
  // No id begins as a date does.
  return /^\d{4}-\d\d-/.test(written) ? { atMs: readMomentMs("before", written) } : { id: written };
}

/** An id may be the operator's own words; what a shell would take apart or obey is quoted, so that the line can be pasted. */
const asTyped = (id: string): string => (/^[\w.:@/-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`);

const rowOf = (entry: Entry): string[] => [
  isoTime(entry.bookedAtMs),
  entry.kind,
  signed(entry.amountMicros),
  usd(entry.balanceMicros),
  aboutOf(entry),
  entry.id,
];

const signed = (micros: Micros): string => (micros > 0n ? `+${usd(micros)}` : usd(micros));

function aboutOf({ reason, call }: Entry): string {
  if (!call) return reason ?? "";
  return call.model === undefined ? call.operationId : `${call.operationId} (${call.model})`;
}

const entryJson = (entry: Entry): object => ({
  id: entry.id,
  kind: entry.kind,
  booked_at: isoTime(entry.bookedAtMs),
  amount_micros_usd: Number(entry.amountMicros),
  balance_micros_usd: Number(entry.balanceMicros),
  reason: entry.reason ?? null,
  operation_id: entry.call?.operationId ?? null,
  model: entry.call?.model ?? null,
  key_id: entry.call?.keyId ?? null,
});
