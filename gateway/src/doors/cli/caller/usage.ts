import type { UsageBucket, UsageTotals } from "../../../../../client/src/operations.ts";
import { dayOf } from "../../../platform/utc-day.ts";
import { lastDays } from "../../../usage/last-days.ts";
import { reportDaysMax } from "../../../usage/usage-report.ts";
import { defineCommand, optional, WrongUsage } from "../command.ts";
import { table } from "../output.ts";
import { readFigure } from "../values.ts";
import { microsAsUsd } from "./micros.ts";
import { withClient } from "./open-client.ts";

const daysUsual = "7";

export const usage = defineCommand({
  words: ["usage"],
  summary: "shows what was used and charged, day by day",
  flags: { days: optional("N", `how many UTC days, today included; ${daysUsual} when absent`) },
  run: async ({ flags }, parts) => {
    const days = readFigure("days", flags.days ?? daysUsual);
    if (days > reportDaysMax) throw new WrongUsage(`--days takes at most ${reportDaysMax}.`);
    const { startSeconds } = lastDays(days, parts.clock.wallMs());
    const report = await withClient(parts, (client) => client.usage({ start_time: startSeconds }));
    const most = Math.max(1, ...report.buckets.map((bucket) => bucket.charged_micros_usd));
    return {
      lines: [
        ...table(
          ["day", "calls", "failed", "tokens in", "tokens out", "charged", ""],
          [
            ...report.buckets.map((bucket) => [
              dayOf(bucket.start_time),
              ...figures(bucket),
              bar(bucket, most),
            ]),
            ["total", ...figures(report.totals), ""],
          ],
          "",
        ),
        report.scope === "key" ? "This key alone." : "The whole account.",
      ],
      json: report,
      exitCode: 0,
    };
  },
});

const figures = (of: UsageTotals): string[] => [
  String(of.requests),
  String(of.failed_requests),
  String(of.input_tokens + of.cache_read_tokens + of.cache_write_tokens),
  String(of.output_tokens),
  microsAsUsd(of.charged_micros_usd),
];

const barWidth = 24;
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** A bar to the eighth of a letter; the dearest day fills it, and a day that cost anything shows. */
function bar({ charged_micros_usd: charged }: UsageBucket, most: number): string {
  if (charged <= 0) return "";
  const parts = Math.max(1, Math.round((charged / most) * barWidth * 8));
  return "█".repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? "");
}
