// The command line where the data is in Postgres, with a server beside it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openXDouble, type XDouble } from "../doubles/x.ts";
import { runTollgate } from "../support/run-tollgate.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { clientSecret, lastingScopes } from "../links/linking.ts";
import { signInWith } from "../sign-in/oauth-person.ts";
import { openRealNodes, storePassword, type RealNode, type RealNodes } from "../support/real-nodes.ts";
import { openTestDatabase, type TestDatabase } from "../services/postgres.ts";
import { redisForTests, startPrivateRedis } from "../services/redis.ts";
import { snapshotMicros, snapshotPath } from "../support/purchases.ts";
import { startLink } from "../support/visitor.ts";

/** What callers type, or nobody can type here. */
const notOperators = ["serve", "contract", "call", "quote", "usage", "watch", "version"];

let database: TestDatabase;
let platform: XDouble;
let nodes: RealNodes;

beforeAll(async () => {
  database = await openTestDatabase();
  platform = await openXDouble({ clientId: "app-1", clientSecret });
  const { url: redisUrl } = await redisForTests();
  const upstream = {
    protocol: "x",
    url: platform.url,
    authorize_url: platform.authorizeUrl,
    token_url: platform.tokenUrl,
    revoke_url: platform.revokeUrl,
    client_id: "app-1",
    client_secret: clientSecret,
  };
  const config = `upstreams: { platform: ${JSON.stringify(upstream)} }`;
  nodes = await openRealNodes({ postgresUrl: database.url, redisUrl, config });
});
afterAll(async () => {
  expect(nodes.said()).not.toContain(storePassword);
  await nodes.close();
  await platform.close();
  await database.drop();
});

/** As people may see it. */
const place = (): string => {
  const { host, pathname } = new URL(database.url);
  return `postgres://${host}${pathname}`;
};

describe("before there is any data", () => {
  const expecting: readonly (readonly string[])[] = [
    ["account", "list"],
    ["account", "ledger", "acc_1"],
    ["topup", "--account", "acc_1", "--usd", "1"],
    ["key", "issue", "--account", "acc_1"],
    ["link", "list"],
    ["grant", "list"],
    ["quota", "list"],
    ["audit"],
  ];

  test("a command that needs some says where it looked, and leaves nothing behind", async () => {
    const ran = await inTurns(expecting, async (words) => ({ words, ...(await nodes.tollgate(...words)) }));
    for (const { words, code, out, errors } of ran) {
      expect([words, code, out]).toEqual([words, 1, ""]);
      expect(errors).toContain(`There is no data at ${place()}.`);
    }
    const receipt = await nodes.tollgate("receipt", "call_1");
    expect([receipt.code, receipt.errors]).toMatchObject([
      1,
      expect.stringContaining("There is no data here."),
    ]);
    expect(await nodes.query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toHaveLength(0);
  });

  test("a move says that there is no file that anything could move from", async () => {
    const { code, out, errors } = await nodes.tollgate("move");
    expect([code, out, errors]).toMatchObject([
      1,
      "",
      expect.stringMatching(/^There is no data at \/\S+tollgate\.db\./),
    ]);
  });

  test("backup and restore say whose work that will be", tryBackups);

  test("a first account begins the installation", async () => {
    const { code, errors } = await nodes.tollgate("account", "create", "--name", "Ada");
    expect([code, errors]).toEqual([
      0,
      `There was no data at ${place()} yet; it begins with this account.\n`,
    ]);
    expect(await nodes.ask("account", "list")).toMatchObject({ accounts: [{ name: "Ada" }] });
  });
});

describe("beside a server", () => {
  let node: RealNode;
  let account: TestAccount;
  beforeAll(async () => {
    node = await nodes.start();
    account = await nodes.openAccount("5");
  });

  test("an account is paid into, corrected, called with, and all books tell the same of it", async () => {
    const { ask } = nodes;
    const of = ["--account", account.accountId];
    await ask("topup", ...of, "--usd", "10");
    await ask("adjust", ...of, "--usd", "-0.25", "--reason", "a refund outside");
    const answers = await Promise.all(Array.from({ length: 5 }, () => node.call(account, snapshotPath)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const charged = 5 * snapshotMicros;
    const balance = 15_000_000 - 250_000 - charged;
    expect(await ask("account", "show", account.accountId)).toMatchObject({ balance_micros_usd: balance });
    const ledger = await ask("account", "ledger", account.accountId);
    expect(ledger).toMatchObject({ balance_micros_usd: balance, sum_micros_usd: balance, has_more: false });
    expect(ledger["entries"]).toHaveLength(8);
    for (const by of ["day", "key", "model", "operation"])
      expect(await ask("account", "usage", account.accountId, "--by", by)).toMatchObject({
        by,
        totals: { requests: 5, charged_micros_usd: charged },
      });
    expect(await ask("receipt", answers[0]?.headers.get("x-request-id") ?? "")).toMatchObject({
      account_id: account.accountId,
      charged_micros_usd: snapshotMicros,
    });
  });

  test("an account is suspended and resumed, and its tier changed", async () => {
    const { ask } = nodes;
    await ask("account", "update", account.accountId, "--suspend");
    expect((await node.call(account, snapshotPath)).status).toBe(403);
    const changed = await ask("account", "update", account.accountId, "--resume", "--tier", "growth");
    expect(changed).toMatchObject({ tier: "growth", suspended: false });
    expect((await node.call(account, snapshotPath)).status).toBe(200);
  });

  test("a key is listed, changed, rotated and revoked", async () => {
    const { ask } = nodes;
    const of = ["--account", account.accountId];
    const issued = await ask("key", "issue", ...of, "--budget-usd", "1", "--budget-window", "day");
    const keyId = String(issued["key_id"]);
    await ask("key", "update", keyId, "--name", "renamed", "--models", "gpt-4o");
    const rotated = await ask("key", "rotate", keyId, "--grace", "1h");
    for (const key of [issued["key"], rotated["key"]])
      expect((await node.call({ ...account, key: String(key) }, snapshotPath)).status).toBe(200);
    const { keys } = (await ask("key", "list", ...of)) as { keys: readonly Record<string, unknown>[] };
    expect(keys.find(({ key_id: id }) => id === keyId)).toMatchObject({ name: "renamed" });
    await ask("key", "revoke", keyId);
    const { out } = await nodes.tollgate("key", "list", ...of, "--json");
    expect(out).not.toContain(String(rotated["key"]));
    expect((await nodes.tollgate("key", "rotate", keyId)).code).toBe(1);
  });

  test("an application for higher limits is approved or denied", async () => {
    const wish = { expected_rpm: 9_000, expected_tpm: 9_000_000, models: ["gpt-4o"], use_case: "search" };
    const apply = async (): Promise<string> =>
      ((await (await node.post(account, "/v1/limits/requests", wish)).json()) as { id: string }).id;
    const first = await apply();
    expect(await nodes.ask("quota", "list", "--state", "open")).toMatchObject({
      applications: [{ application_id: first }],
    });
    expect(await nodes.ask("quota", "approve", first, "--rpm", "9000")).toMatchObject({ state: "approved" });
    expect(await nodes.ask("quota", "deny", await apply())).toMatchObject({ state: "denied" });
  });

  test("a client that was let in is listed and ended", async () => {
    const { access_token: token } = await signInWith(nodes.url, account.key);
    const asClient = { ...account, key: token };
    expect((await node.call(asClient, "/v1/credits/balance")).status).toBe(200);
    const { grants } = (await nodes.ask("grant", "list", "--account", account.accountId)) as {
      grants: readonly { grant_id: string }[];
    };
    await nodes.ask("grant", "revoke", grants[0]?.grant_id ?? "");
    expect((await node.call(asClient, "/v1/credits/balance")).status).toBe(401);
  });

  test("a linked platform account is listed and ended, here and at the platform", async () => {
    const { auth_url: authUrl } = await startLink(node, account, lastingScopes);
    expect((await fetch(platform.agree(authUrl))).status).toBe(200);
    const { links } = (await nodes.ask("link", "list", "--key", account.keyId)) as {
      links: readonly { link_id: string }[];
    };
    const revoked = platform.book.filter(({ billed }) => billed.what === "revoke").length;
    await nodes.ask("link", "revoke", links[0]?.link_id ?? "");
    expect(platform.book.filter(({ billed }) => billed.what === "revoke").length).toBeGreaterThan(revoked);
  });

  test("backup and restore say whose work that is", tryBackups);

  test("the books are proven, and the configuration is checked", async () => {
    expect(await nodes.ask("audit")).toMatchObject({ findings: [] });
    const audit = await nodes.tollgate("audit");
    expect([audit.code, audit.errors]).toEqual([0, ""]);
    expect(audit.out).toContain("The books balance.");
    const doctor = await nodes.tollgate("doctor");
    expect(doctor.errors).toBe("");
    expect(doctor.out).toContain(`Store: ${place()} has schema`);
    expect(doctor.out).toContain("and the secret is the one it was written under.");
    expect(doctor.out).toContain("Limits: counted in the Redis at ");
  });

  test("the doctor names the data, the secret or the Redis that cannot be used, and no password", async () => {
    const guarded = await startPrivateRedis({ password: "the-password-of-redis" });
    try {
      const examined = async (changed: Readonly<Record<string, string>>): Promise<string> => {
        const { code, out, errors } = await runTollgate(["doctor"], {
          folder: join(import.meta.dir, "../services"),
          environment: {
            TOLLGATE_STORE: database.url,
            TOLLGATE_SECRET: "the secret of all nodes",
            TOLLGATE_BASE_URL: nodes.url,
            ...changed,
          },
        });
        expect([code, errors]).toEqual([1, ""]);
        expect(out).toEndWith("Something configured cannot be used.\n");
        expect(out).not.toMatch(/the-password-of-redis|not-the-password|quite another/);
        return out;
      };
      expect(await examined({ TOLLGATE_SECRET: "quite another secret" })).toContain(
        `Store: The data at ${place()} was written under another secret.`,
      );
      const stranger = new URL(database.url);
      stranger.username = "stranger";
      stranger.password = "not-the-password";
      expect(await examined({ TOLLGATE_STORE: stranger.href })).toContain(`Store: ${place()} cannot be used`);
      const limits = new URL(guarded.url);
      limits.password = "not-the-password";
      expect(await examined({ TOLLGATE_LIMITS: limits.href })).toMatch(
        /Limits: the Redis at \S+ cannot be used: WRONGPASS/,
      );
      // It answers whoever asks how it is, and counts nothing.
      await guarded.send("REPLICAOF", "127.0.0.1", "1");
      expect(await examined({ TOLLGATE_LIMITS: guarded.url })).toMatch(
        /Limits: the Redis at \S+ cannot be used: READONLY/,
      );
    } finally {
      await guarded.close();
    }
  });

  test("every command was tried that has to do with data", async () => {
    const { out } = await nodes.tollgate("help", "--json");
    const { commands } = JSON.parse(out) as { commands: readonly { readonly usage: string }[] };
    const all = commands.map(({ usage }) => /^tollgate ([a-z]+(?: [a-z]+)?)/.exec(usage)?.[1] ?? usage);
    expect(all.length).toBeGreaterThan(25);
    const wanted = all.filter((name) => !notOperators.includes(name));
    const isTyped = (name: string) => nodes.typed().some((words) => `${words} `.startsWith(`${name} `));
    expect(wanted.filter((name) => !isTyped(name))).toEqual([]);
  });

  test("who comes with another secret or another database is turned away, without a password said again", async () => {
    const asking = async (changed: Readonly<Record<string, string>>): Promise<string> => {
      const address = new URL(database.url);
      address.password = storePassword;
      const environment = {
        TOLLGATE_STORE: address.href,
        TOLLGATE_SECRET: "the secret of all nodes",
        TOLLGATE_BASE_URL: nodes.url,
      };
      const { code, out, errors } = await runTollgate(["account", "list"], {
        folder: join(import.meta.dir, "../services"),
        environment: { ...environment, ...changed },
      });
      expect([code, out]).toEqual([1, ""]);
      expect(errors).not.toContain(storePassword);
      return errors;
    };
    expect(await asking({ TOLLGATE_SECRET: "quite another secret" })).toContain(
      "written under another secret",
    );
    const elsewhere = new URL(database.url);
    elsewhere.pathname = "/nowhere";
    elsewhere.password = storePassword;
    const said = await asking({ TOLLGATE_STORE: elsewhere.href });
    expect(said).toContain(`postgres://${elsewhere.host}/nowhere cannot be used`);
    expect(await asking({ TOLLGATE_STORE: `postgres://me:${storePassword}@127.0.0.1:nowhere/x` })).toContain(
      "TOLLGATE_STORE must be",
    );
  });
});

async function tryBackups(): Promise<void> {
  for (const words of [
    ["backup", "all.db"],
    ["backup", ".", "--keep", "3"],
    ["restore", "all.db"],
  ]) {
    const { code, out, errors } = await nodes.tollgate(...words);
    expect([words, code, out]).toEqual([words, 1, ""]);
    expect(errors).toContain(
      `The data is in ${place()}: back it up and restore it with Postgres' own programs`,
    );
    expect(errors).toContain("pg_dump");
  }
}

/** Some at once: each takes most of its time to start. */
async function inTurns<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const atOnce = 4;
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnce)
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(act))));
  return results;
}
