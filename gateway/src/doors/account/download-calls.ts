// The calls of some days as a file for a spreadsheet: those, and only those, that the usage report of these days counts.

import { seenBy } from "../../keys/seen-by.ts";
import type { Receipt } from "../../ledger/receipt.ts";
import { csvOf } from "../../platform/csv.ts";
import { usdFromMicros } from "../../platform/money.ts";
import { nextTurn } from "../../platform/next-turn.ts";
import { dayOf, secondsPerDay } from "../../platform/utc-day.ts";
import { tokenTotals } from "../../prices/quantities.ts";
import { reportDaysMax, type UsageWindow } from "../../usage/usage-report.ts";
import { grouped } from "../pages/counted.ts";
import { keyNames } from "./key-names.ts";
import type { Reader } from "./reader.ts";
import { showFileRefused } from "./show-calls.ts";
import { readDayStartMs } from "./words.ts";

/** Some megabytes, which are put together while others are served. */
const callsMax = 50_000;

export async function downloadCalls(reader: Reader, query: URLSearchParams): Promise<Response> {
  const { asker, selfService } = reader;
  const refuse = (problem: string): Promise<Response> =>
    showFileRefused(reader, { from: dayIn(query, "from"), to: dayIn(query, "to"), problem });
  const window = readWindow(query, asker.nowMs);
  if (!window) return refuse(wrongDays);
  const { totals } = await selfService.usage(asker, window);
  if (totals.requests > callsMax) return refuse(tooMany(totals.requests));
  const lines = await writeEnded(reader, window, totals.requests);
  if (!lines) return refuse(tooFar);
  const { startSeconds, endSeconds } = window;
  const file = `calls-${dayOf(startSeconds)}-to-${dayOf(Math.max(startSeconds, endSeconds - 1))}.csv`;
  return new Response(byteOrderMark + csvOf([Object.keys(columns)]) + lines.join(""), {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${file}"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}

/** Excel reads a file without it in its country's old encoding, and garbles the names of keys. */
const byteOrderMark = "\uFEFF";

/** As it was written, if it is a day at all. */
function dayIn(query: URLSearchParams, name: string): string {
  const day = query.get(name) ?? "";
  return readDayStartMs(day) === undefined ? "" : day;
}

/** What ended before this second stays as it is; what ends while the file is made would be in it or not by chance. */
function readWindow(query: URLSearchParams, nowMs: number): UsageWindow | undefined {
  const [from, to] = [readDayStartMs(query.get("from") ?? ""), readDayStartMs(query.get("to") ?? "")];
  if (from === undefined || to === undefined || to < from || from > nowMs) return undefined;
  const startSeconds = from / 1000;
  const endSeconds = Math.min(to / 1000 + secondsPerDay, Math.floor(nowMs / 1000));
  if (endSeconds - startSeconds > reportDaysMax * secondsPerDay) return undefined;
  return { startSeconds, endSeconds: Math.max(endSeconds, startSeconds + 1) };
}

/** Calls read and written down at once, in some milliseconds. */
const pageSize = 500;
/** Reached only where the calls of one key lie far apart among those of many others. */
const pagesMax = 400;

/**
 * The list is in the order in which calls were made, and one may have been made long before it ended. So they are looked
 * through, the newest first, until as many are found as the usage report counts: then there are no more. Returns their lines,
 * page by page.
 */
async function writeEnded(
  reader: Reader,
  { startSeconds, endSeconds }: UsageWindow,
  count: number,
): Promise<readonly string[] | undefined> {
  const { asker, selfService } = reader;
  const names = new Map<string, string>();
  const lines: string[] = [];
  let found = 0;
  let before: string | undefined;
  for (let pages = 0; found < count; pages++) {
    if (pages === pagesMax) return undefined;
    const { data, next_cursor: next } = await selfService.receipts(asker, {
      limit: pageSize,
      before,
      madeBeforeMs: endSeconds * 1000,
      operationId: undefined,
      status: undefined,
      keyId: seenBy(asker).keyId,
    });
    const ended = data.filter(({ settled_at: endedAt }) => {
      const endedMs = endedAt === null ? Infinity : Date.parse(endedAt);
      return endedMs >= startSeconds * 1000 && endedMs < endSeconds * 1000;
    });
    found += ended.length;
    const strangers = new Set(ended.map(({ key_id: id }) => id).filter((id) => !names.has(id)));
    const nameOf = await keyNames(reader, strangers);
    for (const id of strangers) names.set(id, nameOf(id).text);
    lines.push(linesOf(ended, names));
    if (next === null) break;
    before = next;
    // SQLite answers at once, so nobody else would have a turn before the file is done.
    await nextTurn();
  }
  return lines;
}

function linesOf(calls: readonly Receipt[], names: ReadonlyMap<string, string>): string {
  const nameOf = (keyId: string): string => names.get(keyId) ?? keyId;
  return csvOf(calls.map((call) => Object.values(columns).map((cell) => cell(call, nameOf))));
}

type Cell = (call: Receipt, nameOf: (keyId: string) => string) => string;

const columns: Readonly<Record<string, Cell>> = {
  request_id: (call) => call.request_id,
  created_at: (call) => call.created_at,
  settled_at: (call) => call.settled_at ?? "",
  key_id: (call) => call.key_id,
  key_name: (call, nameOf) => nameOf(call.key_id),
  operation_id: (call) => call.operation_id,
  model: (call) => call.model ?? "",
  outcome: (call) => call.outcome ?? "",
  http_status: (call) => String(call.http_status ?? ""),
  input_tokens: ({ usage }) => String(tokenTotals(usage).input),
  output_tokens: ({ usage }) => String(tokenTotals(usage).output),
  cache_read_tokens: ({ usage }) => String(tokenTotals(usage).cacheRead),
  cache_write_tokens: ({ usage }) => String(tokenTotals(usage).cacheWrite),
  usage_source: (call) => call.usage_source,
  usage_value_usd: (call) => usdFromMicros(BigInt(call.usage_value_micros_usd)),
  charged_usd: (call) => usdFromMicros(BigInt(call.charged_micros_usd)),
  price_version: (call) => call.price_version,
  grant_id: (call) => call.client?.grant_id ?? "",
  client_name: (call) => call.client?.name ?? "",
};

const wrongDays = `The first day has to be today or before, the last one not before it, and no more than ${reportDaysMax} days in all.`;

const tooMany = (calls: number): string =>
  `In these days ${grouped(calls)} calls ended, and a file holds ${grouped(callsMax)}. Choose fewer days.`;

const tooFar =
  "The account’s other keys made too many calls in between to look through them all. Sign in with a key that sees the whole account.";
