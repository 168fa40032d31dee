// Kills the real program under load, again and again, and compares four books after each death: what callers
// were told, what the ledger says, what the vendors served, and what the audit finds.
// As a program: npm run kills -- [kills=100]

import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { snapshotPath, tagPath } from "../support/purchases.ts";
import { runTollgate, type Ran } from "../support/run-tollgate.ts";
import { openSandboxProgram, type SandboxControl } from "../support/sandbox.ts";
import { until } from "../support/until.ts";

const killAfterMs = { least: 90, most: 250 };
/** A machine that is slow today is given the time for these: a kill before any answer shows little. */
const answeredLeast = 10;
const auditEvery = 10;

export interface KillReport {
  readonly kills: number;
  /** Calls whose callers were told a cost. */
  readonly answered: number;
  readonly chargedMicros: number;
  /** Told to a caller, but missing from the books or booked at another price. */
  readonly lost: readonly string[];
  /** Booked or sent more than once, or made again when it was repeated under its idempotency key. */
  readonly duplicated: readonly string[];
  /** Charged, but no vendor remembers them; or sent, and in no book of ours. */
  readonly invented: readonly string[];
  /** Cut off by a kill and released by the next start. */
  readonly released: number;
  /** The most that one kill left open. */
  readonly releasedMost: number;
  /** Holds that survived a restart, in micros, and files that were damaged. */
  readonly leftovers: readonly string[];
  readonly audit: string;
}

export interface Installation {
  readonly sandbox: SandboxControl;
  readonly dataFolder: string;
  readonly start: () => Promise<GatewayProcess>;
  /** The key of the first start's greeting. */
  readonly key: () => string;
  /** Runs the command line beside the server, or without one. */
  readonly tollgate: (...words: string[]) => Promise<Ran>;
  /** Reads the file as it is: rows of ended calls are there at once, sums when the journal is posted. */
  readonly read: <Row>(sql: string, ...values: string[]) => Row[];
  /** Posts the journal, as whoever asks for a balance does. */
  readonly post: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A data folder with limits that a load test does not meet, and vendors that outlive the gateway. */
export async function openInstallation(): Promise<Installation> {
  const sandbox = await openSandboxProgram();
  const dataFolder = mkdtempSync(join(tmpdir(), "tollgate-kills-"));
  const config = [
    `sandbox: ${sandbox.url}`,
    "signup_credit_usd: 1000000",
    "tiers: { free: { rpm: 100000000, tpm: 100000000000, concurrency: 100000 } }",
  ].join("\n");
  const running = new Set<GatewayProcess>();
  let key = "";

  return {
    sandbox,
    dataFolder,
    start: async () => {
      const gateway = await openGatewayProcess({ dataFolder, config, environment: { TOLLGATE_LOG: "warn" } });
      running.add(gateway);
      key ||= gateway.key;
      return gateway;
    },
    key: () => key,
    tollgate: (...words) =>
      runTollgate(words, { folder: dataFolder, environment: { TOLLGATE_DATA: dataFolder } }),
    read: <Row>(sql: string, ...values: string[]) => {
      const db = new Database(join(dataFolder, "tollgate.db"), { readonly: true });
      try {
        return db.query<Row, string[]>(sql).all(...values);
      } finally {
        db.close();
      }
    },
    post: async () => {
      const store = openSqliteStore({ path: join(dataFolder, "tollgate.db") });
      await store.accounts.list();
      await store.close();
    },
    close: async () => {
      for (const gateway of running) gateway.signal("SIGKILL");
      await Promise.all([...running].map((gateway) => gateway.exited));
      sandbox.stop();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

export interface Load {
  /** What callers were told, by request id. */
  readonly told: ReadonlyMap<string, number>;
  /** Calls that brought an idempotency key, answered or not. */
  readonly keyed: readonly KeyedCall[];
  /** The status of every answer that was not a good one; 0 where none came. */
  readonly refused: readonly number[];
  /** Lets the running calls end and starts no more. */
  readonly stop: () => Promise<void>;
}

interface KeyedCall {
  readonly turn: number;
  readonly idempotencyKey: string;
  /** The request id, where its caller was told one and a cost. */
  readonly callId: string | undefined;
}

/** Callers that call without pause until they are stopped or the gateway is gone. */
export function startLoad(url: string, key: string, callers: number): Load {
  const told = new Map<string, number>();
  const keyed: KeyedCall[] = [];
  const refused: number[] = [];
  let stopped = false;

  const callFor = async (caller: number): Promise<void> => {
    for (let turn = caller; !stopped; turn++) {
      const idempotencyKey = isPost(turn) ? crypto.randomUUID() : undefined;
      const response = await send(url, key, turn, idempotencyKey).catch(() => undefined);
      const cost = response?.headers.get("x-tollgate-cost-micros-usd") ?? null;
      const callId =
        response?.ok === true && cost !== null ? (response.headers.get("x-request-id") ?? "") : undefined;
      if (callId !== undefined) told.set(callId, Number(cost));
      if (response?.ok !== true) refused.push(response?.status ?? 0);
      if (idempotencyKey !== undefined) keyed.push({ turn, idempotencyKey, callId });
      if (!response) return;
      await response.arrayBuffer().catch(() => undefined);
    }
  };
  const calling = Promise.all(Array.from({ length: callers }, (_, caller) => callFor(caller)));
  return {
    told,
    keyed,
    refused,
    stop: async () => {
      stopped = true;
      await calling;
    },
  };
}

const isPost = (turn: number): boolean => turn % 4 > 1;

/**
 * One of four kinds of call, by turns: a fixed price, an envelope, and two that are priced by token, which may bring an
 * idempotency key.
 */
export function send(url: string, key: string, turn: number, idempotencyKey?: string): Promise<Response> {
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
  };
  const get = (path: string) => fetch(url + path, { headers });
  const post = (path: string, body: object) =>
    fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  switch (turn % 4) {
    case 0:
      return get(snapshotPath);
    case 1:
      return get(tagPath);
    case 2:
      return post("/v1/rerank", { query: `turn ${turn}`, documents: ["green tea", "a car", "a turn"] });
    default:
      return post("/v1/chat/completions", {
        model: "gpt-4o-mini",
        messages: [{ role: "user", content: `Say ${turn}.` }],
        max_tokens: 30,
      });
  }
}

/** Starts, loads, kills and checks, as often as asked. */
export async function runKillLoop(options: {
  readonly kills: number;
  readonly callers?: number;
  readonly print?: (line: string) => void;
}): Promise<KillReport> {
  const { kills, callers = 24, print = () => {} } = options;
  const installation = await openInstallation();
  const told = new Map<string, number>();
  const [lost, duplicated, leftovers]: [string[], string[], string[]] = [[], [], []];
  let releasedBefore = 0;
  let releasedMost = 0;
  let audit = "";
  try {
    let gateway = await installation.start();
    for (let kill = 1; kill <= kills; kill++) {
      const load = startLoad(gateway.url, installation.key(), callers);
      await Bun.sleep(killAfterMs.least + Math.random() * (killAfterMs.most - killAfterMs.least));
      await until(() => load.told.size >= answeredLeast);
      gateway.signal("SIGKILL");
      await Promise.all([gateway.exited, load.stop()]);
      gateway = await installation.start();

      leftovers.push(...(await leftoversOf(installation)).map((what) => `after kill ${kill}: ${what}`));
      const bookedFor = bookedCalls(installation);
      for (const [id, cost] of load.told) {
        const { charges, charged } = bookedFor(id);
        if (charges > 1) duplicated.push(`${id} was booked ${charges} times`);
        if (charged !== cost) lost.push(`${id} was told ${cost}, the books say ${charged ?? "nothing"}`);
        told.set(id, cost);
      }
      duplicated.push(...(await madeAgain(gateway.url, installation.key(), load)));
      const released = releasedIn(installation);
      releasedMost = Math.max(releasedMost, released - releasedBefore);
      releasedBefore = released;
      if (kill % auditEvery === 0 || kill === kills) {
        const { code, out, errors } = await installation.tollgate("audit");
        audit = code === 0 ? out.trim() : `audit exits ${code}: ${out}${errors}`;
        print(`${kill} kills, ${told.size} answered, ${released} released. ${audit.replaceAll("\n", " ")}`);
        if (code !== 0) break;
      }
    }
    const sent = await sentTwiceOrNever(installation);
    return {
      kills,
      answered: told.size,
      chargedMicros: [...told.values()].reduce((sum, cost) => sum + cost, 0),
      lost,
      duplicated: [...duplicated, ...sent.twice],
      invented: sent.never,
      released: releasedBefore,
      releasedMost,
      leftovers,
      audit,
    };
  } finally {
    await installation.close();
  }
}

/**
 * Repeats what was asked under a key. Who was answered before must be told of that call; who was cut off is told so, or
 * served for the first time if nothing had left, which the vendors' book shows.
 */
async function madeAgain(url: string, key: string, { keyed }: Load): Promise<string[]> {
  const repeated = keyed.map(async ({ turn, idempotencyKey, callId }) => {
    const response = await send(url, key, turn, idempotencyKey);
    // In the model dialects what is beside the error elsewhere stands inside it.
    const { original, error } = (await response.json()) as Conflict & { error?: Conflict };
    if (callId === undefined) return [];
    const isTold = response.status === 409 && (original ?? error?.original)?.request_id === callId;
    return isTold ? [] : [`${callId} was made again under its key, or forgotten (${response.status})`];
  });
  return (await Promise.all(repeated)).flat();
}

interface Conflict {
  readonly original?: { readonly request_id: string };
}

/** What must not be there once a restarted gateway is idle. */
export async function leftoversOf({ read, post }: Installation): Promise<string[]> {
  await post();
  const integrity = read<{ integrity_check: string }>("PRAGMA integrity_check");
  const held = read<{ id: string }>("SELECT id FROM account WHERE held_micros <> 0");
  const open = read<{ id: string }>("SELECT id FROM call WHERE settled_at_ms IS NULL");
  return [
    ...integrity.filter((row) => row.integrity_check !== "ok").map((row) => row.integrity_check),
    ...held.map(({ id }) => `account ${id} still holds money`),
    ...open.map(({ id }) => `call ${id} is still open`),
  ];
}

interface Booked {
  readonly charges: number;
  readonly charged: number | undefined;
}

/** How each call is booked: how many charges, and how much. A charge of 0 has no entry. */
export function bookedCalls({ read }: Installation): (callId: string) => Booked {
  const calls = read<{ id: string; account: string; charged: number }>(
    "SELECT id, account_id AS account, charged_micros AS charged FROM call WHERE state = 'settled'",
  );
  const entries = read<{ id: string; party: string; charges: number; booked: number }>(
    `SELECT transfer_id AS id, party, count(*) AS charges, -sum(amount_micros) AS booked FROM entry
     WHERE kind = 'charge' GROUP BY transfer_id, party`,
  );
  const entriesOf = new Map(entries.map((entry) => [`${entry.id} ${entry.party}`, entry]));
  const booked = new Map(
    calls.map(({ id, account, charged }): [string, Booked] => {
      const { charges, booked } = entriesOf.get(`${id} ${account}`) ?? { charges: 0, booked: 0 };
      return [id, { charges, charged: charged === booked ? charged : undefined }];
    }),
  );
  return (callId) => booked.get(callId) ?? { charges: 0, charged: undefined };
}

const releasedIn = ({ read }: Installation): number =>
  read<{ n: number }>("SELECT count(*) AS n FROM call WHERE state = 'released' AND outcome = 'unknown'")[0]
    ?.n ?? 0;

/** Compares the vendors' book with ours: nothing sent twice or without a hold, nothing charged that was never sent. */
export async function sentTwiceOrNever(
  installation: Installation,
): Promise<{ twice: string[]; never: string[] }> {
  const sent = new Map<string, number>();
  for (const { request_id: id } of await installation.sandbox.book()) {
    if (id !== null) sent.set(id, (sent.get(id) ?? 0) + 1);
  }
  const calls = installation.read<{ id: string; charged: number }>(
    "SELECT id, charged_micros AS charged FROM call",
  );
  const booked = new Set(calls.map(({ id }) => id));
  const charged = calls.filter((call) => call.charged > 0);
  return {
    twice: [...sent].filter(([, times]) => times > 1).map(([id, times]) => `${id} was sent ${times} times`),
    never: [
      ...charged.map(({ id }) => id).filter((id) => !sent.has(id)),
      ...[...sent.keys()].filter((id) => !booked.has(id)).map((id) => `${id} was sent, and is in no book`),
    ],
  };
}

if (import.meta.main) {
  const kills = Number(process.argv[2]?.replace(/^kills=/, "") ?? 100);
  if (!Number.isInteger(kills) || kills < 1) throw new Error("How often to kill must be a positive number.");
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const startedAt = performance.now();
  const report = await runKillLoop({ kills, print });
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const wrong = [...report.lost, ...report.duplicated, ...report.invented, ...report.leftovers];
  for (const line of wrong.slice(0, 50)) print(line);
  print(
    `${report.kills} kills in ${seconds} s: ${report.answered} answered (${report.chargedMicros} micro-USD), ` +
      `${report.lost.length} lost, ${report.duplicated.length} duplicated, ${report.invented.length} invented, ` +
      `${report.released} released (at most ${report.releasedMost} by one kill), ${report.leftovers.length} left over.`,
  );
  process.exit(wrong.length === 0 && report.audit.includes("The books balance.") ? 0 : 1);
}
