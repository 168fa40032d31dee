// The client in front of the real gateway, with everything going wrong at once: a network that drops and cuts, vendors
// that refuse, fail and break off, and a gateway that is killed and started again. Afterwards four books are compared:
// what the client reported, the ledger, the vendors' own book, and the audit.
// As a program: npm run chaos -- [seconds=180] [seed=N]

import { createClient } from "../../client/src/client.ts";
import { compareBooks, figures, type ChaosReport } from "./chaos-books.ts";
import { openChaosProxy } from "./chaos-proxy.ts";
import { makeCall, type Report } from "./chaos-calls.ts";
import { openInstallation, type Installation } from "./installation.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/until.ts";

const shares = { before: 8, after: 12, middle: 14 };
const killEveryMs = { least: 700, most: 2_500 };
const faultEveryMs = 60;
const faultsWaitingMax = 2;
/** The client's waits are made this much shorter, so that minutes of patience fit into a run. */
const hurry = 10;

export async function runChaos(options: {
  readonly seconds: number;
  /** A slow machine goes on until there were so many of each, without more kills, for five times as long at most. */
  readonly atLeast?: { readonly answered: number; readonly kills: number; readonly sentAgain: number };
  readonly seed: number;
  readonly workers?: number;
  readonly print?: (line: string) => void;
}): Promise<ChaosReport> {
  const { seconds, atLeast, seed, workers = 12, print = () => {} } = options;
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
    const reports: Report[] = [];
    let kills = 0;
    const isEnough = (): boolean =>
      atLeast === undefined ||
      (kills >= atLeast.kills &&
        reports.filter(({ outcome }) => outcome === "answered").length >= atLeast.answered &&
        reports.filter(({ attempts }) => attempts > 1).length >= atLeast.sentAgain);
    const isOver = (): boolean => {
      const passedSeconds = (performance.now() - startedAt) / 1_000;
      if (passedSeconds <= seconds) return false;
      return isEnough() || passedSeconds > 5 * seconds;
    };
    /** Killed on and on, a slow machine would hardly answer. */
    const isKilledEnough = (): boolean =>
      atLeast !== undefined && kills >= atLeast.kills && performance.now() - startedAt > seconds * 1_000;
    const work = async (worker: number): Promise<void> => {
      for (let turn = 0; !isOver(); turn++) {
        reports.push(await makeCall(client, `w${worker}t${turn}s${seed}`, random));
      }
    };
    const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
    const faulting = injectFaults(installation, random, isOver);
    while (!isOver()) {
      await Bun.sleep(killEveryMs.least + random() * (killEveryMs.most - killEveryMs.least));
      if (isOver()) break;
      if (isKilledEnough()) continue;
      gateway = await killAndStart(gateway, installation, random);
      proxy.aim(gateway.url);
      kills += 1;
      if (kills % 20 === 0) print(`${kills} kills, ${reports.length} calls`);
    }
    await faulting;
    await fetch(`${installation.sandbox.url}/_control/faults`, { method: "DELETE" });
    await working;
    proxy.behave();
    await until(() => areAllEnded(installation), 150_000);
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

async function areAllEnded({ read, post }: Installation): Promise<boolean> {
  await post();
  return read<{ n: number }>("SELECT count(*) AS n FROM call WHERE settled_at_ms IS NULL")[0]?.n === 0;
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
