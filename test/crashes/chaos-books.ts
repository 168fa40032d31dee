// After the chaos: what the client reported, the ledger, the vendors' own book and the audit, held against each other.

import type { Client } from "../../client/src/client.ts";
import type { Receipt } from "../../client/src/operations.ts";
import type { Report } from "./chaos-calls.ts";
import type { ChaosProxy } from "./chaos-proxy.ts";
import { leftoversOf } from "./compare-books.ts";
import type { Installation } from "./installation.ts";

export interface ChaosReport {
  readonly seed: number;
  readonly calls: number;
  readonly kills: number;
  readonly broken: ChaosProxy["broken"];
  readonly outcomes: Readonly<Record<string, number>>;
  readonly sentAgain: number;
  /** Calls of which the client said that it does not know what they cost; all are found in the books later. */
  readonly unknown: number;
  readonly reportedMicros: number;
  readonly ledgerMicros: number;
  /** Everything in which two books differ. */
  readonly wrong: readonly string[];
  readonly audit: string;
}

interface Books {
  readonly seed: number;
  readonly kills: number;
  readonly reports: readonly Report[];
  readonly installation: Installation;
  readonly proxy: ChaosProxy;
  readonly client: Client;
}

export async function compareBooks({
  seed,
  kills,
  reports,
  installation,
  proxy,
  client,
}: Books): Promise<ChaosReport> {
  const wrong: string[] = await leftoversOf(installation);
  const vendorsBook = await installation.sandbox.book();
  const ledger = new Map(
    installation
      .read<{ id: string; charged: number }>("SELECT id, charged_micros AS charged FROM call")
      .map(({ id, charged }) => [id, charged]),
  );

  // Every logical call owns at most one call of the ledger that cost anything, and says what the ledger says.
  const owners = new Map<string, Report>();
  let reportedMicros = 0;
  for (const report of reports) {
    const receipts = await receiptsOf(report, client, vendorsBook);
    for (const { request_id: id } of receipts) {
      if (owners.has(id)) wrong.push(`${id} belongs to two logical calls`);
      owners.set(id, report);
    }
    const booked = receipts.map(({ request_id: id }) => ledger.get(id) ?? 0).filter((charged) => charged > 0);
    if (booked.length > 1) wrong.push(`${name(report)} was charged ${booked.length} times`);
    const charged = sum(booked);
    // What it did not know at first it learns from its receipts.
    const said = report.chargedMicrosUsd ?? sum(receipts.map((receipt) => receipt.charged_micros_usd));
    if (said !== charged) wrong.push(`${name(report)} said ${said}, the ledger says ${charged}`);
    reportedMicros += said;
  }
  for (const [id, charged] of ledger) {
    if (charged > 0 && !owners.has(id)) wrong.push(`${id} was charged ${charged}, and nobody knows of it`);
  }

  // What a vendor served with success belongs to a logical call, and to each only once.
  const servedFor = new Map<Report, number>();
  for (const { request_id: id, status } of vendorsBook) {
    if (status !== 200 || id === null) continue;
    const owner = owners.get(id);
    if (!owner) wrong.push(`${id} was served for no logical call that remembers it`);
    else servedFor.set(owner, (servedFor.get(owner) ?? 0) + 1);
  }
  for (const [report, times] of servedFor) {
    if (times > 1) wrong.push(`${name(report)} was served ${times} times`);
  }

  const ledgerMicros = sum([...ledger.values()]);
  const { totals } = await client.usage({ start_time: Math.floor(Date.now() / 1000) - 86_400 });
  if (totals.charged_micros_usd !== ledgerMicros) {
    wrong.push(`the usage report says ${totals.charged_micros_usd}, the ledger ${ledgerMicros}`);
  }
  const audited = await installation.tollgate("audit");
  return {
    seed,
    calls: reports.length,
    kills,
    broken: proxy.broken,
    outcomes: countBy(reports, ({ outcome }) => outcome),
    sentAgain: reports.filter(({ attempts }) => attempts > 1).length,
    unknown: reports.filter(({ chargedMicrosUsd }) => chargedMicrosUsd === undefined).length,
    reportedMicros,
    ledgerMicros,
    wrong,
    audit: audited.code === 0 ? audited.out.trim() : `exit ${audited.code}: ${audited.out}${audited.errors}`,
  };
}

/** Receipts of the calls that were made for a logical one: by its key, or by what the vendors saw of it. */
async function receiptsOf(
  report: Report,
  client: Client,
  vendorsBook: Awaited<ReturnType<Installation["sandbox"]["book"]>>,
): Promise<readonly Receipt[]> {
  if (report.idempotencyKey !== undefined) {
    const receipt = await client.outcome(report.idempotencyKey);
    return receipt ? [receipt] : [];
  }
  const seen = vendorsBook.filter(({ query }) => query.endsWith(`=${report.marker}`));
  const ids = new Set(seen.map(({ request_id: id }) => id ?? ""));
  return Promise.all([...ids].map((id) => client.receipt(id)));
}

const name = ({ kind, idempotencyKey, marker, outcome }: Report): string =>
  `${kind} ${idempotencyKey ?? marker} (${outcome})`;

const sum = (amounts: readonly number[]): number => amounts.reduce((total, one) => total + one, 0);

function countBy<Item>(items: readonly Item[], wordOf: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[wordOf(item)] = (counts[wordOf(item)] ?? 0) + 1;
  return counts;
}

export const figures = (report: ChaosReport): string =>
  `seed ${report.seed}: ${report.calls} calls, ${report.kills} kills, ` +
  `${report.broken.before}/${report.broken.after}/${report.broken.middle} connections broken before/after/in the ` +
  `middle, ${JSON.stringify(report.outcomes)}, ${report.sentAgain} sent again, ${report.unknown} unknown at first; ` +
  `reported ${report.reportedMicros} micro-USD, ledger ${report.ledgerMicros}, ${report.wrong.length} wrong.`;
