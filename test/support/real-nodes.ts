// Several servers, each a process of its own, on one Postgres and one Redis, behind one address, as an operator runs
// them. They share one sandbox, whose book shows what was sent.

import { SQL } from "bun";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callerAt, type Caller } from "./caller.ts";
import { openGatewayProcess, type GatewayProcess } from "./gateway-process.ts";
import { runTollgate, toldIn, type Ran } from "./run-tollgate.ts";
import { openSandboxProgram, type SandboxControl } from "./sandbox.ts";
import type { TestAccount } from "./test-gateway.ts";
import { until } from "./until.ts";

/** Whoever connects is trusted, so any password will do; it must be found nowhere. */
export const storePassword = "the-password-of-postgres";

export interface RealNode extends Omit<GatewayProcess, "url">, Caller {
  /** Its own address, which callers do not know. */
  readonly url: string;
  readonly port: number;
}

export interface RealNodes {
  /** The address all are known by. Requests go to one after the other. */
  readonly url: string;
  readonly sandbox: SandboxControl;
  readonly start: () => Promise<RealNode>;
  /** A command of the operator's, on the same data. */
  readonly tollgate: (...words: string[]) => Promise<Ran>;
  /** The same, answered in JSON; throws when it fails. */
  readonly ask: (...words: string[]) => Promise<Record<string, unknown>>;
  /** An account with a key, both made by the command line. */
  readonly openAccount: (creditUsd: string, tier?: string) => Promise<TestAccount>;
  /** What differs between the books, what callers were told and what vendors were sent, once nothing runs. */
  readonly differences: (told: ReadonlyMap<string, number>) => Promise<readonly string[]>;
  readonly query: <Row>(sql: string) => Promise<readonly Row[]>;
  /** The commands that were given so far, as they were typed. */
  readonly typed: () => readonly string[];
  /** Everything that servers and commands wrote so far. */
  readonly said: () => string;
  readonly close: () => Promise<void>;
}

interface NodesOptions {
  readonly postgresUrl: string;
  readonly redisUrl: string;
  /** More of tollgate.yaml. */
  readonly config?: string;
}

export async function openRealNodes({
  postgresUrl,
  redisUrl,
  config = "",
}: NodesOptions): Promise<RealNodes> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-nodes-"));
  const sandbox = await openSandboxProgram();
  writeFileSync(join(folder, "tollgate.yaml"), `sandbox: ${sandbox.url}\n${roomy}\n${config}`);
  const inService: RealNode[] = [];
  const started: RealNode[] = [];
  const typed: string[] = [];
  const written: string[] = [];
  const balancer = openBalancer(inService);
  const url = `http://127.0.0.1:${balancer.port}`;
  const environment = {
    TOLLGATE_STORE: withPassword(postgresUrl),
    TOLLGATE_LIMITS: redisUrl,
    TOLLGATE_SECRET: "the secret of all nodes",
    TOLLGATE_BASE_URL: url,
    TOLLGATE_DATA: folder,
  };
  const outside = new SQL(postgresUrl, { max: 1, bigint: true });

  const tollgate = async (...words: string[]): Promise<Ran> => {
    typed.push(words.join(" "));
    const ran = await runTollgate(words, { folder, environment });
    written.push(ran.out, ran.errors);
    return ran;
  };
  const ask = async (...words: string[]): Promise<Record<string, unknown>> =>
    toldIn(await tollgate(...words, "--json"));
  const query = <Row>(sql: string): Promise<readonly Row[]> => outside.unsafe<Row[]>(sql);

  return {
    url,
    sandbox,
    tollgate,
    ask,
    query,
    start: async () => {
      const node = asNode(await openGatewayProcess({ dataFolder: folder, environment }));
      started.push(node);
      inService.push(node);
      node.exited.finally(() => inService.splice(inService.indexOf(node), 1)).catch(() => {});
      return node;
    },
    openAccount: async (creditUsd, tier = "enterprise") => {
      const made = await ask(
        "account",
        "create",
        "--name",
        "caller",
        "--tier",
        tier,
        "--credit-usd",
        creditUsd,
      );
      const accountId = String(made["account_id"]);
      const issued = await ask("key", "issue", "--account", accountId);
      return { accountId, keyId: String(issued["key_id"]), key: String(issued["key"]) };
    },
    differences: async (told) => {
      const calls = await query<BookedCall>("SELECT id, state, charged_micros, settled_at_ms FROM call");
      const held = await query<{ id: string }>("SELECT id FROM account WHERE held_micros <> 0");
      return [
        ...held.map(({ id }) => `account ${id} still holds money`),
        ...differencesOf({ calls, told, sent: (await sandbox.book()).map((sent) => sent.request_id) }),
      ];
    },
    said: () => [...started.flatMap((node) => [node.greeting, node.stderr()]), ...written].join("\n"),
    typed: () => typed,
    close: async () => {
      for (const node of started) node.signal("SIGKILL");
      await Promise.all(started.map((node) => node.exited));
      await balancer.stop(true);
      await outside.close();
      sandbox.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Limits that a load does not meet; those of the free tier stay as they are. */
const roomy = "tiers: { enterprise: { rpm: 100000000, tpm: 100000000000, concurrency: 100000 } }";

/** The address of a store as an operator writes it. */
export function withPassword(url: string): string {
  const address = new URL(url);
  address.password = storePassword;
  return address.href;
}

function asNode(process: GatewayProcess): RealNode {
  const port = Number(/It listens on \S+:(\d+)/.exec(process.greeting)?.[1]);
  const url = `http://127.0.0.1:${port}`;
  return {
    ...callerAt(url),
    pid: process.pid,
    greeting: process.greeting,
    key: process.key,
    stderr: process.stderr,
    signal: process.signal,
    exited: process.exited,
    url,
    port,
  };
}

/** Sends each request to the next node in service; once more only when nobody listened, because then nothing was sent. */
function openBalancer(inService: readonly RealNode[]) {
  let turns = 0;
  const pass = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const body = request.body === null ? null : await request.bytes();
    for (let tries = 0; tries < inService.length; tries++) {
      const node = inService[turns++ % inService.length];
      try {
        return await fetch(`${node?.url}${pathname}${search}`, {
          method: request.method,
          headers: request.headers,
          body,
          redirect: "manual",
          keepalive: false,
          decompress: false,
        });
      } catch (error) {
        if ((error as { code?: string }).code !== "ECONNREFUSED") break;
      }
    }
    return new Response("no node answered", { status: 502 });
  };
  return Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: pass });
}

interface BookedCall {
  readonly id: string;
  readonly state: string;
  readonly charged_micros: bigint;
  readonly settled_at_ms: bigint | null;
}

interface Books {
  readonly calls: readonly BookedCall[];
  readonly told: ReadonlyMap<string, number>;
  readonly sent: readonly (string | null)[];
}

function differencesOf({ calls, told, sent }: Books): string[] {
  const booked = new Map(calls.map((call) => [call.id, call]));
  const charged = (id: string): bigint | undefined => booked.get(id)?.charged_micros;
  return [
    ...calls.filter((call) => call.settled_at_ms === null).map(({ id }) => `${id} is still open`),
    ...[...told]
      .filter(([id, cost]) => charged(id) !== BigInt(cost))
      .map(([id, cost]) => `${id} was told ${cost}, the books say ${charged(id) ?? "nothing"}`),
    ...sent.filter((id, at) => id !== null && sent.indexOf(id) !== at).map((id) => `${id} was sent twice`),
    ...sent.filter((id) => id !== null && !booked.has(id)).map((id) => `${id} was sent, and is in no book`),
  ];
}

/** Waits until nothing of the account is held. */
export const untilNothingHeld = (nodes: RealNodes, account: TestAccount, withinMs: number): Promise<void> =>
  until(async () => {
    const [held] = await nodes.query<{ held: bigint }>(
      `SELECT held_micros AS held FROM account WHERE id = '${account.accountId}'`,
    );
    return held?.held === 0n;
  }, withinMs);
