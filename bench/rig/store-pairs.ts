// How many calls a second a store holds and settles for so many callers, with nothing around it, and what that costs. Run
// as a program it does so; imported it starts such programs, one or several on the same store.

import type { Store } from "../../gateway/src/store/store.ts";
import { openPostgresStore } from "../../gateway/src/stores/postgres/postgres-store.ts";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { cpuSecondsBetween, readCpu } from "./cpu.ts";
import type { Traffic } from "./distant-postgres.ts";
import { openOwnersIn, runPair, type Owner } from "./ledger-pair.ts";
import { endingWithUs, tied } from "./leftovers.ts";

/** Where the books lie: the address of a Postgres, or the path of a file. */
export type StorePlace = { readonly url: string } | { readonly path: string };

interface PairsOptions {
  readonly places: readonly StorePlace[];
  readonly owners: readonly Owner[];
  /** At each process. */
  readonly callers: number;
  readonly seconds: number;
  /** The processes of the store itself, where it has any. */
  readonly serverPid?: number | undefined;
  /** Whatever has passed to the store until now, where somebody counts it. */
  readonly traffic?: (() => Traffic) | undefined;
}

export interface Pairs {
  readonly pairsPerSecond: number;
  readonly cpuMicros: number;
  /** What the store's own processes took for a pair; nothing where it has none. */
  readonly serverCpuMicros: number | undefined;
  readonly holdP50Ms: number;
  readonly holdP99Ms: number;
  readonly pairs: number;
  readonly commits: number;
  readonly traffic: Traffic | undefined;
}

/** What one process says of itself. */
interface Counted {
  readonly pairs: number;
  readonly commits: number;
  readonly seconds: number;
  readonly cpuMicros: number;
  readonly holdsMs: readonly number[];
}

const warmUpSeconds = 0.7;
/** A lonely caller would not be enough for the compiler to notice. */
const warmUpCallers = 64;

const openStoreAt = async (place: StorePlace, onCommit = () => {}): Promise<Store> =>
  "url" in place
    ? await openPostgresStore({ url: place.url, onCommit })
    : openSqliteStore({ path: place.path, onCommit });

export async function openOwners(place: StorePlace, count: number): Promise<Owner[]> {
  const store = await openStoreAt(place);
  const owners = await openOwnersIn(store, count);
  await store.close();
  return owners;
}

/** One process for each place, all at the same time. */
export async function countPairs(options: PairsOptions): Promise<Pairs> {
  const { places, serverPid, callers, seconds, owners, traffic } = options;
  const children = places.map((place) => startCounting({ place, callers, seconds, owners }));
  await Promise.all(children.map(({ ready }) => ready));
  const [cpuBefore, before] = [serverPid === undefined ? undefined : readCpu(serverPid), traffic?.()];
  for (const { begin } of children) begin();
  const counted = await Promise.all(children.map(({ counts }) => counts));
  const after = traffic?.();
  const serverSeconds =
    serverPid === undefined || cpuBefore === undefined
      ? undefined
      : cpuSecondsBetween(cpuBefore, readCpu(serverPid));
  // Only now: what a server's processes used is known as long as they are there.
  for (const { end } of children) end();
  await Promise.all(children.map(({ ended }) => ended));
  const pairs = sum(counted.map((each) => each.pairs));
  const holdsMs = counted.flatMap((each) => each.holdsMs).toSorted((a, b) => a - b);
  const holdAt = (part: number): number => holdsMs[Math.floor(part * (holdsMs.length - 1))] ?? Number.NaN;
  return {
    pairs,
    commits: sum(counted.map((each) => each.commits)),
    pairsPerSecond: sum(counted.map((each) => each.pairs / each.seconds)),
    cpuMicros: sum(counted.map((each) => each.cpuMicros)) / pairs,
    serverCpuMicros: serverSeconds === undefined ? undefined : (serverSeconds * 1e6) / pairs,
    holdP50Ms: holdAt(0.5),
    holdP99Ms: holdAt(0.99),
    traffic: after &&
      before && {
        statements: after.statements - before.statements,
        roundTrips: after.roundTrips - before.roundTrips,
      },
  };
}

interface ChildOptions extends Pick<PairsOptions, "callers" | "seconds" | "owners"> {
  readonly place: StorePlace;
}

/** It warms up, says that it is ready, begins when it is told to, says what it counted, and ends when it is told to. */
function startCounting(options: ChildOptions) {
  const ready = Promise.withResolvers<void>();
  const counts = Promise.withResolvers<Counted>();
  const child = tied(
    Bun.spawn([...endingWithUs, process.execPath, import.meta.path], {
      stdio: ["inherit", "inherit", "inherit"],
      ipc: (message: "ready" | Counted) => {
        if (message === "ready") ready.resolve();
        else counts.resolve(message);
      },
    }),
  );
  child.send(options);
  const fail = (code: unknown): void => {
    const failure = new Error(`A process that counted pairs ended with ${String(code)}.`);
    ready.reject(failure);
    counts.reject(failure);
  };
  child.exited.then(fail, fail);
  // Whoever waits for the first is told; nobody waits for the second then.
  counts.promise.catch(() => {});
  return {
    ready: ready.promise,
    begin: () => child.send("begin"),
    counts: counts.promise,
    end: () => child.send("end"),
    ended: child.exited,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

if (import.meta.main) {
  const heard: ((message: unknown) => void)[] = [];
  process.on("message", (message: unknown) => heard.shift()?.(message));
  const next = (): Promise<unknown> => new Promise((resolve) => void heard.push(resolve));
  // Written by our parent, from the type it is read back into.
  await serveCounting((await next()) as ChildOptions, next);
  process.exit(0);
}

async function serveCounting(options: ChildOptions, next: () => Promise<unknown>): Promise<void> {
  let commits = 0;
  const store = await openStoreAt(options.place, () => void commits++);
  await store.ledger.beginRun(Date.now());
  await runPairs(store, { ...options, callers: warmUpCallers }, warmUpSeconds);
  const begin = next();
  process.send?.("ready");
  await begin;
  commits = 0;
  const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
  const holdsMs = await runPairs(store, options, options.seconds);
  const { user, system } = process.cpuUsage(cpu);
  const counted: Counted = {
    pairs: holdsMs.length,
    commits,
    seconds: (performance.now() - startedMs) / 1000,
    cpuMicros: user + system,
    holdsMs,
  };
  const end = next();
  process.send?.(counted);
  await end;
  await store.close();
}

/** How long each hold took. */
async function runPairs(store: Store, { callers, owners }: ChildOptions, seconds: number): Promise<number[]> {
  const holdsMs: number[] = [];
  let turn = 0;
  const endMs = performance.now() + seconds * 1000;
  const call = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const owner = owners[turn++ % owners.length];
      if (owner === undefined) throw new Error("There is nobody to hold for.");
      holdsMs.push(await runPair(store, owner));
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return holdsMs;
}
