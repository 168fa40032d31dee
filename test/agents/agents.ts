// Clients that agents really use, and the protocol's own conformance suite, against the gateway. Their packages are
// heavy and need a newer Node, so they are installed apart: `npm run agents` does both.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { askDirectly } from "../support/ask-directly.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { createPerson } from "../sign-in/oauth-person.ts";
import { addFixtures } from "./conformance/fixtures.ts";

const folder = import.meta.dir;
const programs = join(folder, "clients/node_modules/.bin");
const node = join(programs, "node");
/** The suite and the bridge write here what they otherwise would write into somebody's home. */
const home = mkdtempSync(join(tmpdir(), "tollgate-agents-"));

const callback = 4_712;
const config = `
mcp:
  auto_approve_usd: 0.2
  clients:
    conformance: { name: Conformance suite, redirect_uris: ["http://127.0.0.1:${callback}/callback"] }
`;
const microsOfOneAnswer = 48_000;
const tools = ["search", "get_details", "list_categories", "use", "batch_use"];

let gateway: TestGateway;
/** Everybody gets their own, so that nobody meets another's limits. */
let account: TestAccount;
let mcp: string;

beforeAll(async () => {
  gateway = await openTestGateway({ config });
  mcp = `${gateway.url}/mcp`;
});
beforeEach(async () => {
  account = await gateway.openAccount({ creditUsd: "50", tier: "enterprise" });
});
afterAll(async () => {
  await gateway.close();
  rmSync(home, { recursive: true, force: true });
});

// The suite cannot send a credential, so its requests get one on their way in; nothing else about them changes.
async function openForSuite(extended: boolean) {
  const behind = await openTestGateway(extended ? { parts: { extendAgentServer: addFixtures } } : {});
  const { key } = await behind.openAccount({ creditUsd: "50", tier: "enterprise" });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch: (request) => {
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${key}`);
      return askDirectly(behind.gateway, new Request(request, { headers }));
    },
  });
  return {
    url: `http://localhost:${server.port}/mcp`,
    close: async () => {
      await server.stop(true);
      await behind.close();
    },
  };
}

for (const [revision, required] of [
  ["2026-07-28", 37],
  ["2025-11-25", 30],
] as const) {
  test(`all ${required} required scenarios of ${revision} pass`, async () => {
    const suite = await openForSuite(true);
    const { code, output } = await run(
      "conformance",
      words(`server --url ${suite.url} --requirements ${revision}`),
    );
    await suite.close();
    expect([code, output.match(/^✗ (?!tasks-).*$/gm)]).toEqual([0, null]);
    const notScored = Number(/Not scored for \S+: (\d+) scenario/.exec(output)?.[1]);
    expect((output.match(/^[✓✗] [a-z0-9-]+: /gm) ?? []).length - notScored).toBe(required);
  });

  test(`the real server differs from the suite's reference of ${revision} only as written down`, async () => {
    const suite = await openForSuite(false);
    const baseline = join(folder, "conformance", `baseline-${revision}.yml`);
    const { code, output } = await run(
      "conformance",
      words(`server --url ${suite.url} --requirements ${revision} --expected-failures ${baseline}`),
    );
    await suite.close();
    expect(output).toContain("Baseline check passed");
    expect(code).toBe(0);
  });
}

test("the authorization server passes the suite's checks", async () => {
  const { code, output } = await run(
    "conformance",
    words(
      `authorization --url ${gateway.url} --client-id conformance --resource ${mcp} --port ${callback} ` +
        `--spec-version 2026-07-28 -o ${home}`,
    ),
    { opens: /https?:\/\/\S+\/authorize\?\S+/ },
  );
  expect(output).toMatch(/^✓ authorization-server-metadata-endpoint: [1-9]\d* passed, 0 failed$/m);
  expect(output).toMatch(/^✓ authorization-code-grant: [1-9]\d* passed, 0 failed$/m);
  expect(code).toBe(0);
});

interface Went {
  readonly operation_id: string;
  readonly status: string;
  readonly settled_micros_usd: number;
  readonly request_id: string;
  readonly refused: string;
  readonly tools: readonly string[];
  readonly era?: string;
  readonly asked?: string;
  readonly approved?: { readonly status: string; readonly settled_micros_usd: number };
}

const bought = {
  operation_id: "financial.metrics.snapshot",
  status: "completed",
  settled_micros_usd: microsOfOneAnswer,
  refused: "price_cap_exceeded",
  tools,
};

for (const way of ["signs in", "brings an API key"] as const) {
  const keys = (): string[] => (way === "signs in" ? [] : [account.key]);

  for (const mode of ["auto", "legacy"] as const) {
    test(`SDK v2 (${mode}) ${way}, buys, and asks its person before a dear call`, async () => {
      const went = await client("sdk-v2.mjs", [mode, ...keys()]);
      expect(went).toMatchObject({ ...bought, era: mode === "auto" ? "modern" : "legacy" });
      expect(went.asked).toContain("research.deep_search");
      expect(went.approved?.status).toBe("completed");
      await checkReceipt(went);
    });
  }

  test(`SDK v1 ${way}, buys, and asks its person before a dear call`, async () => {
    const went = await client("sdk-v1.mjs", keys());
    expect(went).toMatchObject(bought);
    expect(went.asked).toContain("research.deep_search");
    expect(went.approved?.status).toBe("completed");
    await checkReceipt(went);
  });

  test(`the AI SDK ${way} and buys`, async () => {
    const went = await client("ai-sdk.mjs", keys());
    expect(went).toMatchObject(bought);
    await checkReceipt(went);
  });

  test(`mcp-remote ${way} and buys`, async () => {
    const went = await client("mcp-remote.mjs", keys());
    expect(went).toMatchObject(bought);
    await checkReceipt(went);
  });

  for (const era of ["legacy", "modern"] as const) {
    test(`the Inspector (${era}) ${way}, finds no fault with the schemas, and buys`, async () => {
      const common = [
        ...words(`--cli ${mcp} --transport http --protocol-era ${era} --format json`),
        ...keys().flatMap((key) => ["--header", `Authorization: Bearer ${key}`]),
      ];
      const listed = await run("inspector", [...common, "--method", "tools/list", "--strict"], inspecting);
      expect(listed.output).toContain('"batch_use"');
      expect(listed.code).toBe(0);
      expect(listed.output).not.toMatch(/[1-9]\d* (error|warning)/);
      const given = JSON.stringify({
        operation_id: bought.operation_id,
        arguments: { ticker: "AAPL" },
        max_price_usd: 0.1,
      });
      const used = await run(
        "inspector",
        [...common, "--method", "tools/call", "--tool-name", "use", "--tool-args-json", given],
        inspecting,
      );
      expect(used.output).toContain(`"settled_micros_usd":${microsOfOneAnswer}`);
      expect(used.code).toBe(0);
    });
  }
}

const words = (text: string): string[] => text.split(" ");

const inspecting = { opens: /https?:\/\/\S+\/authorize\?\S+/ };

async function checkReceipt({ request_id }: Went): Promise<void> {
  const receipt = await gateway.call(account, `/v1/requests/${request_id}`);
  expect(await receipt.json()).toMatchObject({ charged_micros_usd: microsOfOneAnswer });
}

/** Runs a client program; where it sends its person away, the person allows and comes back. */
async function client(program: string, more: readonly string[]): Promise<Went> {
  const child = Bun.spawn([node, join(folder, "clients", program), mcp, ...more], {
    env: environment(),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const complained = new Response(child.stderr).text();
  let went: Went | undefined;
  for await (const line of linesOf(child.stdout)) {
    if (!line.startsWith("{")) continue;
    const said = JSON.parse(line) as { authorize?: string; result?: Went };
    if (said.result) went = said.result;
    if (said.authorize === undefined) continue;
    const back = await createPerson(gateway.url, account.key).allow(said.authorize, { per_call_usd: "0.2" });
    if (program === "mcp-remote.mjs") await (await fetch(back)).text();
    else await child.stdin.write(`${back.href}\n`);
    await child.stdin.flush();
  }
  if (!went) throw new Error(`${program} ended with ${await child.exited}: ${await complained}`);
  return went;
}

interface Ran {
  readonly code: number;
  readonly output: string;
}

/** Runs one of the packages' own programs; an address it prints for its person is opened and allowed. */
async function run(
  program: string,
  given: readonly string[],
  { opens }: { readonly opens?: RegExp } = {},
): Promise<Ran> {
  const child = Bun.spawn([node, join(programs, program), ...given], {
    cwd: home,
    env: environment(),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let output = "";
  const opened = new Set<string>();
  const hear = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const line of linesOf(stream)) {
      output += `${line}\n`;
      const url = opens?.exec(line)?.[0];
      if (url === undefined || opened.has(url)) continue;
      opened.add(url);
      const back = await createPerson(gateway.url, account.key).allow(url);
      await (await fetch(back)).text();
    }
  };
  await Promise.all([hear(child.stdout), hear(child.stderr)]);
  return { code: await child.exited, output };
}

const environment = (): Record<string, string> => ({
  PATH: `${programs}:${process.env["PATH"] ?? ""}`,
  HOME: home,
  MCP_REMOTE_CONFIG_DIR: mkdtempSync(join(home, "bridge-")),
  MCP_AUTO_OPEN_ENABLED: "true",
  MCP_INSPECTOR_SECRET_STORE: "file",
  NO_COLOR: "1",
});

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
