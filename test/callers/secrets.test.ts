// Canaries: every key of these tests can be recognised, and afterwards everything the gateway said, wrote
// or sent is searched for them.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parseConfig } from "../../gateway/src/config/load-config.ts";
import type { Store } from "../../gateway/src/store/store.ts";
import type { Answer } from "../doubles/scripted-answer.ts";
import {
  openAttackerListener,
  openVendorDouble,
  type AttackerListener,
  type RecordedRequest,
  type VendorDouble,
} from "../doubles/vendor-double.ts";
import { callerAt } from "../support/caller.ts";
import { openGatewayProcess } from "../support/gateway-process.ts";
import { chatBody, snapshotPath, tagPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

const protocols = ["openai", "jina", "tikhub", "financialdatasets"] as const;
type Protocol = (typeof protocols)[number];
const vendorKey = (protocol: Protocol): string => `canary-${protocol}-9f8e/7d6c+5b4a`;

const chat = chatBody({ max_tokens: 1 });
const rerank = { query: "a", documents: ["b"] };

let gateway: TestGateway;
let account: TestAccount;
let attacker: AttackerListener;
const doubles = new Map<Protocol, VendorDouble>();
/** Heads and bodies of every answer a caller got. */
const answers: string[] = [];

/** What a careless vendor says: everything it was told, keys included. */
const echo = (request: RecordedRequest): string =>
  JSON.stringify({ error: "no", headers: request.headers, target: request.target });

type Step = "hold" | "settle" | "markDispatched" | "findCredential";

/** The step that fails now, and how. */
let failing: { readonly step: Step; readonly failure: () => never } | undefined;

const breakable = (store: Store): Store => {
  const orFail =
    <Arguments extends unknown[], Result>(step: Step, run: (...given: Arguments) => Result) =>
    (...given: Arguments): Result =>
      failing?.step === step ? failing.failure() : run(...given);
  const { ledger, keys } = store;
  return {
    ...store,
    ledger: {
      ...ledger,
      hold: orFail("hold", ledger.hold),
      settle: orFail("settle", ledger.settle),
      markDispatched: orFail("markDispatched", ledger.markDispatched),
    },
    keys: { ...keys, findCredential: orFail("findCredential", keys.findCredential) },
  };
};

let vendorAnswer: (request: RecordedRequest) => Answer = () => ({ status: 404 });

beforeAll(async () => {
  attacker = await openAttackerListener();
  for (const protocol of protocols) {
    doubles.set(protocol, await openVendorDouble({ handlers: { "*": (request) => vendorAnswer(request) } }));
  }
  const upstreams = protocols.map(
    (protocol) =>
      `  ${protocol}: { protocol: ${protocol}, url: "${doubles.get(protocol)?.url}", key: ${vendorKey(protocol)} }`,
  );
  gateway = await openTestGateway({
    config: `upstreams:\n${upstreams.join("\n")}\n`,
    wrap: (parts) => ({ ...parts, store: breakable(parts.store) }),
  });
  account = await gateway.openAccount({ creditUsd: "100" });
});

afterAll(async () => {
  await gateway.close();
  await attacker.close();
  for (const double of doubles.values()) await double.close();
});

beforeEach(() => void answers.splice(0));

/** Whatever a test did, no secret has got out by now. */
afterEach(async () => {
  const secrets = [account.key, ...protocols.map(vendorKey)];
  const told = answers.join("\n");
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toContain("tollgate_calls_total");
  const logged = gateway.logged.join("");
  const stored = storedBytes();
  expect(stored.includes(account.keyId)).toBe(true);

  for (const secret of secrets) {
    expect({ secret, told: told.includes(secret) }).toEqual({ secret, told: false });
    expect({ secret, measured: metrics.includes(secret) }).toEqual({ secret, measured: false });
    expect({ secret, logged: logged.includes(secret) }).toEqual({ secret, logged: false });
    expect({ secret, stored: stored.includes(secret) }).toEqual({ secret, stored: false });
  }
  for (const [protocol, { requests, violations }] of doubles) {
    const heads = requests.map(({ target, headers }) => JSON.stringify([target, headers])).join("\n");
    const foreign = secrets.filter((secret) => secret !== vendorKey(protocol) && heads.includes(secret));
    expect({ protocol, foreign, violations }).toEqual({ protocol, foreign: [], violations: [] });
  }
  expect(attacker.connections()).toBe(0);
  expect(attacker.bytes()).toBe(0);
});

/** The database as it lies on the disk, journal included. */
const storedBytes = (): Buffer =>
  Buffer.concat(
    ["", "-wal", "-shm"]
      .map((ending) => gateway.databasePath + ending)
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file)),
  );

const record = async (asked: Promise<Response>): Promise<number> => {
  const response = await asked;
  answers.push(JSON.stringify([...response.headers]), await response.text());
  return response.status;
};

/** As `askAll`, and each vendor was asked: nothing can come back from one that was not. */
const askAllReached = async (): Promise<Record<Protocol, number>> => {
  const asked = () => protocols.map((protocol) => doubles.get(protocol)?.requests.length ?? 0);
  const before = asked();
  const statuses = await askAll();
  expect(asked().map((count, at) => count > (before[at] ?? 0))).toEqual(protocols.map(() => true));
  return statuses;
};

const askAll = async (): Promise<Record<Protocol, number>> => ({
  openai: await record(gateway.post(account, "/v1/chat/completions", chat)),
  jina: await record(gateway.post(account, "/v1/rerank", rerank)),
  tikhub: await record(gateway.call(account, tagPath)),
  financialdatasets: await record(gateway.call(account, snapshotPath)),
});

test("an upstream gets its own key and nothing of the caller's", async () => {
  vendorAnswer = () => ({ status: 200, headers: { "content-type": "application/json" }, body: "{}" });
  expect(await askAll()).toEqual({ openai: 200, jina: 200, tikhub: 200, financialdatasets: 200 });
  for (const [protocol, { requests }] of doubles) {
    expect(JSON.stringify(requests.at(-1)?.headers)).toContain(vendorKey(protocol));
  }
});

test.each([401, 402, 403, 429])(
  "what an upstream says about the operator's key with a %d is withheld",
  async (status) => {
    vendorAnswer = (request) => ({
      status,
      headers: { "content-type": "application/json" },
      body: echo(request),
    });
    const ours = status === 429 ? 429 : 503;
    expect(await askAll()).toEqual({ openai: ours, jina: ours, tikhub: ours, financialdatasets: ours });
  },
);

test.each([301, 302, 303, 307, 308])("a redirect with a %d carries no key anywhere", async (status) => {
  vendorAnswer = (request) => ({
    status,
    headers: { location: `${attacker.url}${request.target}` },
    body: echo(request),
  });
  expect(await askAll()).toEqual({ openai: 502, jina: 502, tikhub: 503, financialdatasets: 502 });
});

test("an upstream that breaks off, lies or talks nonsense draws no key out", async () => {
  vendorAnswer = () => ({ status: 200, body: "ok" });
  for (const scripted of [
    { kind: "reset" },
    { kind: "close", afterBytes: 10 },
    { kind: "truncated" },
    { kind: "garbage" },
    { kind: "two-content-lengths" },
  ] as const) {
    for (const double of doubles.values()) double.answerNext(scripted);
    await askAllReached();
  }
});

test("headers of an upstream's answer stay behind", async () => {
  vendorAnswer = ({ headers }) => ({
    status: 200,
    headers: {
      "content-type": "application/json",
      "x-echo": JSON.stringify(headers),
      "set-cookie": "vendor=1",
    },
    body: "{}",
  });
  await askAllReached();
  expect(answers.join("\n")).not.toContain("x-echo");
  expect(answers.join("\n")).not.toContain("set-cookie");
});

test("an upstream that echoes the operator's key in an answer does not get it through to the caller", async () => {
  for (const status of [200, 400, 500]) {
    vendorAnswer = (request) => ({
      status,
      headers: { "content-type": "application/json" },
      body: echo(request),
    });
    await askAllReached();
  }
});

/** The ways in which vendors' languages write the same text. */
const spellings: Record<string, (json: string) => string> = {
  "PHP's": (json) => json.replaceAll("/", "\\/"),
  ".NET's": (json) => json.replaceAll("+", "\\u002B"),
  "every letter in digits": (json) =>
    json.replaceAll(/canary[^"]*/g, (said) =>
      [...said].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join(""),
    ),
  "JSON inside of JSON": (json) => JSON.stringify({ error: json.replaceAll("/", "\\/") }),
};

/** Every string that a caller's parser finds, one beside the other, also in JSON inside of JSON. */
const readAloud = (json: unknown): string => {
  if (typeof json === "string") return json.startsWith("{") ? readAloud(JSON.parse(json)) : json;
  return typeof json === "object" && json !== null ? Object.values(json).map(readAloud).join("\n") : "";
};

test.each(Object.entries(spellings))("nor when its JSON escapes the key: %s", async (_, write) => {
  for (const status of [200, 400, 500]) {
    vendorAnswer = (request) => ({
      status,
      headers: { "content-type": "application/json" },
      body: write(echo(request)),
    });
    await askAllReached();
    const bodies = answers.filter((told) => told.startsWith("{"));
    expect(bodies.length).toBeGreaterThanOrEqual(protocols.length);
    const heard = bodies.map((told) => readAloud(JSON.parse(told))).join("\n");
    for (const protocol of protocols) expect(heard).not.toContain(vendorKey(protocol));
  }
});

test("nor in the type of an answer", async () => {
  for (const status of [200, 400, 500]) {
    vendorAnswer = (request) => {
      const shown = request.headers.flatMap((pair) => /canary-[\w-/+]+/.exec(pair.join(" "))?.[0] ?? []);
      return {
        status,
        headers: { "content-type": `application/json; seen="${shown.join(" ")}"` },
        body: "{}",
      };
    };
    await askAllReached();
  }
});

test("nor in the middle of a stream, which ends there and says so", async () => {
  const chunk = (content: string): string =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] })}\n\n`;
  const told = `${chunk("Hello")}${chunk(`your key is ${vendorKey("openai")}`)}${chunk("bye")}data: [DONE]\n\n`;
  const headers = { "content-type": "text/event-stream" };
  const escaped = told.replaceAll("/", "\\/");
  for (const body of [{ body: told }, { chunks: [...told] }, { body: escaped }, { chunks: [...escaped] }]) {
    answers.splice(0);
    vendorAnswer = () => ({ status: 200, headers, ...body });
    const streaming = { ...chat, stream: true };
    expect(await record(gateway.post(account, "/v1/chat/completions", streaming))).toBe(200);
    const passed = answers.join("\n");
    expect(passed).toContain("Hello");
    expect(passed).toContain("error");
    expect(passed).not.toContain("bye");
    expect(passed).not.toContain("[DONE]");
  }
  expect(await gateway.audit()).toEqual([]);
});

test("a key in the wrong place is neither obeyed nor repeated", async () => {
  vendorAnswer = () => ({ status: 200, headers: { "content-type": "application/json" }, body: "{}" });
  const { key } = account;
  const bare = (path: string, init?: RequestInit) => record(fetch(gateway.url + path, init));
  expect(await bare(`/v1/credits/balance?api_key=${key}`)).toBe(401);
  expect(await bare(`/v1beta/models?key=${key}`)).toBe(401);
  expect(await bare(`/v1/${key}`)).toBe(401);
  expect(await bare(`/${key}`)).toBe(404);
  expect(await bare("/v1/credits/balance", { headers: { authorization: `Basic ${key}` } })).toBe(401);
  expect(await bare("/v1/credits/balance", { headers: { authorization: `Bearer ${key}x` } })).toBe(401);
  expect(await bare("/v1/credits/balance", { headers: { cookie: `key=${key}` } })).toBe(401);

  const known = (path: string, init?: RequestInit) => record(gateway.call(account, path, init));
  expect(await known(`/v1/${key}`)).toBe(404);
  expect(await known(`/v1/requests/${key}`)).toBe(404);
  expect(await known(`/v1/requests?status=settled&operation_id=${key}`)).toBe(200);
  expect(await known(`/v1/requests?cursor=${key}`)).toBe(400);
  expect(await known(`/v1/requests?status=${key}`)).toBe(400);
  expect(await known(`/v1/usage?start_time=${key}`)).toBe(400);
  expect(await known(snapshotPath, { headers: { "X-Tollgate-Cost-Mode": key } })).toBe(400);
  expect(await known(snapshotPath, { headers: { "X-Tollgate-Max-Price-USD": key } })).toBe(400);

  const posted = (body: unknown) => record(gateway.post(account, "/v1/chat/completions", body));
  expect(await posted({ ...chat, model: key })).toBe(404);
  expect(await posted({ ...chat, max_tokens: key })).toBe(400);
  expect(await posted({ ...chat, messages: key })).toBe(400);
  expect(await posted(`{"api_key":"${key}"`)).toBe(400);
  expect(await posted({ ...chat, api_key: key, user_api_key: key, extra_headers: { a: key } })).toBe(200);
  const sent = doubles.get("openai")?.requests.at(-1)?.body ?? new Uint8Array();
  expect(Buffer.from(sent).includes(key)).toBe(false);
});

test("an error of our own that carries keys tells the caller nothing and the log only their absence", async () => {
  const failure = (): never => {
    const keys = [account.key, ...protocols.map(vendorKey)].join(" ");
    const error = new Error(`broken: ${keys}`, { cause: { headers: { authorization: keys } } });
    Object.assign(error, { config: { headers: { authorization: keys } } });
    throw error;
  };
  const linesBefore = gateway.logged.length;
  vendorAnswer = () => ({ status: 200, body: '{"snapshot":{"ticker":"AAPL"}}' });
  const statusWhenFailing = async (step: Step): Promise<number> => {
    // Nobody knows this key yet, so that it is looked up.
    const stranger = await gateway.openAccount();
    failing = { step, failure };
    try {
      return await record(gateway.call(stranger, snapshotPath));
    } finally {
      failing = undefined;
    }
  };
  expect(await statusWhenFailing("hold")).toBe(503);
  expect(await statusWhenFailing("settle")).toBe(503);
  expect(await statusWhenFailing("markDispatched")).toBe(500);
  expect(await statusWhenFailing("findCredential")).toBe(503);

  const lines = gateway.logged.slice(linesBefore).filter((line) => line.includes("broken: "));
  expect(lines.length).toBeGreaterThanOrEqual(4);
  for (const line of lines) {
    expect(line).toContain("[key]");
    expect(line).toContain("[secret]");
    expect(JSON.parse(line)).not.toHaveProperty("cause");
    expect(JSON.parse(line)).not.toHaveProperty("config");
  }
});

test("what a caller writes cannot forge a line of the log", async () => {
  const linesBefore = gateway.logged.length;
  const forged = '\n{"level":"error","event":"forged"}\n\u001b[31m=cmd()';
  await record(gateway.post(account, "/v1/chat/completions", { ...chat, model: forged }));
  await record(gateway.call(account, `/v1/${encodeURIComponent(forged)}`));
  for (const line of gateway.logged.slice(linesBefore)) {
    expect(line.indexOf("\n")).toBe(line.length - 1);
    expect(JSON.parse(line)).not.toHaveProperty("event", "forged");
    expect(line).not.toContain("\u001b");
  }
});

test("a configuration that cannot be used is explained without its keys", () => {
  const key = vendorKey("openai");
  const broken = [
    `upstreams: { a: { protocol: openai, url: nowhere, key: ${key} } }`,
    `upstreams: { a: { protocol: ${key}, url: "https://a.test", key: ${key} } }`,
    `upstreams: { a: { protocol: openai, url: "https://a.test", kee: ${key} } }`,
    `upstreams: { a: { protocol: openai, url: "https://a.test", key: [${key}] } }`,
    `upstreams: { a: { protocol: openai, url: "https://a.test", key: "${key} } }`,
    'upstreams: { a: { protocol: "${CANARY}", url: "${CANARY}", key: "${CANARY}" } }',
  ];
  for (const text of broken) {
    let message = "";
    try {
      parseConfig(text, "tollgate.yaml", { CANARY: key });
    } catch (error) {
      message = Bun.inspect(error instanceof Error ? { message: error.message, cause: error.cause } : error);
    }
    expect(message).toContain("tollgate.yaml");
    expect(message).not.toContain(key);
  }
});

test("the key a first start greets with is printed once, and stands in no log and no file", async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "tollgate-secrets-"));
  const process = await openGatewayProcess({ dataFolder, environment: { TOLLGATE_LOG: "debug" } });
  try {
    const { key } = process;
    const response = await callerAt(process.url).call(process, "/v1/credits/balance");
    expect(response.status).toBe(200);
    expect(process.stderr()).not.toContain("tgk_");
    for await (const file of new Bun.Glob("**/*").scan({ cwd: dataFolder, dot: true })) {
      const holds = readFileSync(join(dataFolder, file)).includes(key);
      expect({ file, holds }).toEqual({ file, holds: false });
    }
  } finally {
    process.signal("SIGTERM");
    await process.exited;
    rmSync(dataFolder, { recursive: true, force: true });
  }
});
