import type { Store } from "../../../../store/store.ts";
import { dayOf, dayStartSeconds, secondsPerDay } from "../../../../platform/utc-day.ts";
import { readUsageByGroup } from "../../../../usage/usage-by-group.ts";
import {
  readUsage,
  reportDaysMax,
  type UsageFigures,
  type UsageWindow,
} from "../../../../usage/usage-report.ts";
import { knownAccount } from "./account.ts";
import { defineCommand, optional, WrongUsage } from "../../command.ts";
import { table, usd } from "../../output.ts";
import { readDaySeconds, readWord } from "../../values.ts";
import { withStore } from "../../with-store.ts";

const groupings = ["day", "key", "model", "operation"] as const;
type Grouping = (typeof groupings)[number];

const daysUsual = 7;
/** Days and keys are summed up as calls end; models and operations are not, and every call of the span is read for them. */
const daysMax: Readonly<Record<Grouping, number>> = {
  day: reportDaysMax,
  key: reportDaysMax,
  model: 31,
  operation: 31,
};

export const accountUsage = defineCommand({
  words: ["account", "usage"],
  operand: "ACCOUNT_ID",
  summary: "shows what an account used and was charged, taken apart by day, key, model or operation",
  flags: {
    from: optional("DATE", `the first UTC day; ${daysUsual} days in all when absent`),
    to: optional("DATE", "the last UTC day, included; today when absent"),
    by: optional(
      groupings.join("|"),
      `day when absent; at most ${daysMax.day} days, by model or operation at most ${daysMax.model}, because every call is read`,
    ),
  },
  run: async ({ operand, flags }, parts) => {
    const by = readWord("by", flags.by ?? "day", groupings);
    const window = readWindow(flags, by, parts.clock.wallMs());
    const { groups, totals } = await withStore(parts, async (store) => {
      knownAccount(operand, await store.accounts.find(operand));
      return readGroups(store, operand, by, window);
    });
    const labels = labelsOf[by];
    const total = ["total", ...labels.slice(1).map(() => "")];
    return {
      lines: table(
        [...labels, "CALLS", "FAILED", "TOKENS IN", "TOKENS OUT", "VALUE", "CHARGED"],
        [
          ...groups.map(({ label, figures }) => [...Object.values(label).map(shown), ...cells(figures)]),
          [...total, ...cells(totals)],
        ],
        "",
      ),
      json: {
        account_id: operand,
        by,
        from: dayOf(window.startSeconds),
        to: dayOf(window.endSeconds - secondsPerDay),
        groups: groups.map(({ label, figures }) => ({ ...label, ...figures })),
        totals,
      },
      exitCode: 0,
    };
  },
});

function readWindow(
  { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
  by: Grouping,
  nowMs: number,
): UsageWindow {
  const lastDay = to === undefined ? dayStartSeconds(Math.floor(nowMs / 1000)) : readDaySeconds("to", to);
  const endSeconds = lastDay + secondsPerDay;
  const startSeconds =
    from === undefined ? endSeconds - daysUsual * secondsPerDay : readDaySeconds("from", from);
  if (startSeconds >= endSeconds) throw new WrongUsage(`--from must not lie after ${dayOf(lastDay)}.`);
  if (endSeconds - startSeconds > daysMax[by] * secondsPerDay)
    throw new WrongUsage(`By ${by}, --from and --to may span ${daysMax[by]} days at most.`);
  return { startSeconds, endSeconds };
}

interface Group {
  /** What stands before the figures, in the order of the table's columns. */
  readonly label: Readonly<Record<string, string | null>>;
  readonly figures: UsageFigures;
}

interface Groups {
  readonly groups: readonly Group[];
  readonly totals: UsageFigures;
}

const labelsOf: Readonly<Record<Grouping, readonly string[]>> = {
  day: ["DAY"],
  key: ["KEY", "NAME"],
  model: ["MODEL"],
  operation: ["OPERATION"],
};

async function readGroups(
  store: Store,
  accountId: string,
  by: Grouping,
  window: UsageWindow,
): Promise<Groups> {
  const whole = { accountId, keyId: undefined };
  if (by === "day") {
    const { buckets, totals } = await readUsage(store.usage, whole, window);
    const groups = buckets.map(({ start_time: start, end_time: _, ...figures }) => ({
      label: { day: dayOf(start) },
      figures,
    }));
    return { groups, totals };
  }
  const { groups, totals } = await readUsageByGroup(store.usage, whole, by, window);
  const keys = by === "key" ? await store.keys.list(accountId) : [];
  const keyNames = new Map(keys.map(({ id, name }) => [id, name]));
  const labelOf = {
    key: (id = "") => ({ key_id: id, name: keyNames.get(id) ?? null }),
    model: (model?: string) => ({ model: model ?? null }),
    operation: (id = "") => ({ operation_id: id }),
  }[by];
  return { groups: groups.map(({ name, ...figures }) => ({ label: labelOf(name), figures })), totals };
}

/** An operation that knows no models is charged without one. */
const shown = (label: string | null): string => label ?? "none";

const cells = (of: UsageFigures): string[] => [
  String(of.requests),
  String(of.failed_requests),
  String(of.input_tokens + of.cache_read_tokens + of.cache_write_tokens),
  String(of.output_tokens),
  usd(BigInt(of.usage_value_micros_usd)),
  usd(BigInt(of.charged_micros_usd)),
];
