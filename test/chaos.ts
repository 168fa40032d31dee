// The client in front of the real gateway, with everything going wrong at once: a network that drops and cuts, vendors
// that refuse, fail and break off, and a gateway that is killed and started again. Afterwards four books are compared:
// what the client reported, the ledger, the vendors' own book, and the audit.
// As a program: node scripts/chaos.mjs [seconds=180] [seed=N]

import { createClient, type Client } from "../client/src/client.ts";
import type { Receipt } from "../client/src/operations.ts";
import { openChaosProxy, type ChaosProxy } from "./chaos-proxy.ts";
import { makeCall, type Report } from "./chaos-calls.ts";
import { leftoversOf, openInstallation, type Installation } from "./kill-loop.ts";
import { until, type GatewayProcess } from "./harness.ts";

const shares = { before: 8, after: 12, middle: 14 };
const killEveryMs = { least: 700, most: 2_500 };
const faultEveryMs = 60;
const faultsWaitingMax = 2;
/** The client's waits are made this much shorter, so that minutes of patience fit into a run. */
const hurry = 10;

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

export async function runChaos(options: {
  readonly seconds: number;
  readonly seed: number;
  readonly workers?: number;
  readonly print?: (line: string) => void;
}): Promise<ChaosReport> {
  const { seconds, seed, workers = 12, print = () => {} } = options;
  const random = seededRandom(seed);
  const installation = await openInstallation();
  const proxy = await openChaosProxy(shares, random);
  try {
    let gateway = await installation.start();
    proxy.aim(gateway.url);
    const client = createClient({
      apiKey: installation.key(),
      baseUrl: proxy.url,
      random,
      attemptTimeoutMs: 10_000,
      clock: { nowMs: () => Date.now(), sleep: (ms, signal) => sleep(ms / hurry, signal) },
    });
    const startedAt = performance.now();
    const isOver = (): boolean => performance.now() - startedAt > seconds * 1_000;
    const reports: Report[] = [];
    const work = async (worker: number): Promise<void> => {
      for (let turn = 0; !isOver(); turn++) {
        reports.push(await makeCall(client, `w${worker}t${turn}s${seed}`, random));
      }
    };
    const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
    const faulting = injectFaults(installation, random, isOver);
    let kills = 0;
    while (!isOver()) {
      await Bun.sleep(killEveryMs.least + random() * (killEveryMs.most - killEveryMs.least));
      if (isOver()) break;
      gateway = await killAndStart(gateway, installation, random);
      proxy.aim(gateway.url);
      kills += 1;
      if (kills % 20 === 0) print(`${kills} kills, ${reports.length} calls`);
    }
    await faulting;
    await fetch(`${installation.sandbox.url}/_control/faults`, { method: "DELETE" });
    await working;
    proxy.behave();
    await until(() => openCalls(installation) === 0, 150_000);
    return await compareBooks({ seed, kills, reports, installation, proxy, client });
  } finally {
    await proxy.close();
    await installation.close();
  }
}

async function killAndStart(
  gateway: GatewayProcess,
  installation: Installation,
  random: () => number,
): Promise<GatewayProcess> {
  gateway.signal("SIGKILL");
  await gateway.exited;
  await Bun.sleep(random() * 400);
  return installation.start();
}

/** One vendor's trouble after another, each for a call or three. */
async function injectFaults(
  { sandbox }: Installation,
  random: () => number,
  isOver: () => boolean,
): Promise<void> {
  const faults: readonly object[] = [
    { status: 429, headers: { "retry-after": "1" } },
    { status: 500 },
    { status: 503 },
    { mode: "close" },
    { mode: "partial" },
    { mode: "cut_stream", after_events: 2 },
    { mode: "error_event", after_events: 1 },
    { mode: "no_usage" },
    { latency_ms: 300 },
    { chunk_delay_ms: 30 },
  ];
  while (!isOver()) {
    await Bun.sleep(faultEveryMs);
    // While the gateway is down nobody meets them; they must not pile up until every call fails.
    const waiting = (await (await fetch(`${sandbox.url}/_control/faults`)).json()) as { faults: unknown[] };
    if (waiting.faults.length >= faultsWaitingMax) continue;
    const fault = faults[Math.floor(random() * faults.length)];
    await sandbox.fault({ ...fault, times: 1 + Math.floor(random() * 3) });
  }
}

interface Books {
  readonly seed: number;
  readonly kills: number;
  readonly reports: readonly Report[];
  readonly installation: Installation;
  readonly proxy: ChaosProxy;
  readonly client: Client;
}

async function compareBooks({
  seed,
  kills,
  reports,
  installation,
  proxy,
  client,
}: Books): Promise<ChaosReport> {
  const wrong: string[] = leftoversOf(installation);
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
    audit:
      audited.code === 0 ? audited.stdout.trim() : `exit ${audited.code}: ${audited.stdout}${audited.stderr}`,
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

const openCalls = ({ read }: Installation): number =>
  read<{ n: number }>("SELECT count(*) AS n FROM call WHERE settled_at_ms IS NULL")[0]?.n ?? 0;

function countBy<Item>(items: readonly Item[], wordOf: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[wordOf(item)] = (counts[wordOf(item)] ?? 0) + 1;
  return counts;
}

/** The same seed makes the same choices; what the machine's timing makes of them differs. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await Bun.sleep(ms);
  signal?.throwIfAborted();
}

export const figures = (report: ChaosReport): string =>
  `seed ${report.seed}: ${report.calls} calls, ${report.kills} kills, ` +
  `${report.broken.before}/${report.broken.after}/${report.broken.middle} connections broken before/after/in the ` +
  `middle, ${JSON.stringify(report.outcomes)}, ${report.sentAgain} sent again, ${report.unknown} unknown at first; ` +
  `reported ${report.reportedMicros} micro-USD, ledger ${report.ledgerMicros}, ${report.wrong.length} wrong.`;

if (import.meta.main) {
  const given = (name: string, usual: number): number => {
    const word = process.argv.slice(2).find((one) => one.startsWith(`${name}=`));
    return word === undefined ? usual : Number(word.slice(name.length + 1));
  };
  const seconds = given("seconds", 180);
  const seed = given("seed", Math.floor(Math.random() * 1_000_000));
  if (!(seconds > 0) || !Number.isInteger(seed)) throw new Error("Usage: chaos [seconds=180] [seed=N]");
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  print(`seed=${seed}`);
  const report = await runChaos({ seconds, seed, print });
  for (const line of report.wrong.slice(0, 50)) print(line);
  print(figures(report));
  print(report.audit);
  process.exit(report.wrong.length === 0 && report.audit.includes("The books balance.") ? 0 : 1);
}
