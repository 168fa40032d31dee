import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../../config/load-config.ts";
import { sealTokens } from "../../../links/sealed-tokens.ts";
import { createVault } from "../../../links/vault.ts";
import { createOffer } from "../../../offer/create-offer.ts";
import { loadCatalogue } from "../../../operation/catalogue.ts";
import { systemBytes } from "../../../platform/chance.ts";
import { openSqliteStore } from "../../../stores/sqlite/sqlite-store.ts";
import { createHttpClient } from "../../../upstreams/http/http-client.ts";
import { createPlatformClient } from "../../../upstreams/platform-client.ts";
import { createTerminal, testSecrets } from "../test-terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-link-"));
const openStore = async () => openSqliteStore({ path: join(folder, "tollgate.db") });

/** The platform's revocation endpoint, and nothing else of it. */
const revoked: string[] = [];
const answer = { status: 200 };
const platform = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    if (answer.status === 200) revoked.push(new URLSearchParams(await request.text()).get("token") ?? "");
    return Response.json({ revoked: true }, { status: answer.status });
  },
});
afterAll(async () => {
  await platform.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

const address = platform.url.origin;
const yamlOf = (further: string): string =>
  `upstreams: { platform: { protocol: x, url: "${address}/2", authorize_url: "${address}/a", token_url: "${address}/t", client_id: app, client_secret: shh ${further} } }`;

const terminalWith = (further: string) =>
  createTerminal({
    openStore,
    platformClient: createPlatformClient(createHttpClient()),
    loadOffer: async () => {
      const config = parseConfig(yamlOf(further), "tollgate.yaml", {});
      const catalogue = await loadCatalogue([join(import.meta.dir, "../../../../../catalogue")]);
      return { config, offer: createOffer(catalogue, config, undefined) };
    },
  });
const terminal = terminalWith(`, revoke_url: "${address}/r"`);

async function openLink(): Promise<{ id: string; keyId: string; accountId: string }> {
  const { account_id: accountId } = await terminal.json("account", "create", "--name", "Ada");
  const { key_id: keyId } = await terminal.json("key", "issue", "--account", String(accountId));
  const owner = { accountId: String(accountId), keyId: String(keyId) };
  const id = `lnk_${Bun.randomUUIDv7()}`;
  const store = await openStore();
  const vault = createVault({ rowKey: testSecrets.rowKey, randomBytes: systemBytes });
  const clock = { wallMs: terminal.nowMs, monotonicMs: () => 0 };
  const grant = {
    accessToken: `access of ${id}`,
    refreshToken: `refresh of ${id}`,
    expiresInSeconds: 7200,
    scopes: undefined,
  };
  await store.links.save({
    id,
    ...owner,
    upstream: "platform",
    user: { id: "7", username: "ada\u001b[2J" },
    scopes: ["users.read"],
    tokens: sealTokens({ id, ...owner, version: 1 }, grant, { vault, clock, randomBytes: systemBytes }),
    createdAtMs: terminal.nowMs(),
    undoHash: new TextEncoder().encode(id),
    undoUntilMs: terminal.nowMs() + 1,
  });
  await store.close();
  return { id, ...owner };
}

test("links are listed for all, an account or a key, without tokens or tricks for the terminal", async () => {
  const [one, two] = [await openLink(), await openLink()];
  const listed = (await terminal.run("link", "list")).out.join("\n");
  for (const { id, keyId } of [one, two]) {
    expect(listed).toContain(id);
    expect(listed).toContain(keyId);
  }
  expect(listed).not.toContain("\u001b");
  const idsOf = async (...words: string[]) => {
    const { links } = (await terminal.json("link", "list", ...words)) as { links: { link_id: string }[] };
    return links.map(({ link_id: id }) => id);
  };
  expect(await idsOf("--account", one.accountId)).toEqual([one.id]);
  expect(await idsOf("--key", two.keyId)).toEqual([two.id]);
  const json = JSON.stringify(await terminal.json("link", "list"));
  expect(json).not.toMatch(/access of|refresh of|salt/);
  expect((await terminal.run("link", "list", "--key", "key_nobody")).exitCode).toBe(1);
  expect((await terminal.run("link", "list", "--account", "acc_nobody")).exitCode).toBe(1);
});

test("a link is revoked once, here and at the platform", async () => {
  const { id, keyId } = await openLink();
  const ended = await terminal.json("link", "revoke", id);
  expect(ended).toMatchObject({ link_id: id, key_id: keyId, status: "revoked", platform: "revoked" });
  expect(revoked.slice(-2)).toEqual([`refresh of ${id}`, `access of ${id}`]);
  const again = await terminal.run("link", "revoke", id);
  expect([again.exitCode, again.errors.join("")]).toEqual([1, `There is no live link ${id}.`]);
});

test("a platform that does not confirm, offers nothing or is not configured: it ends here, and that is said", async () => {
  const told = revoked.length;
  answer.status = 500;
  const unreached = await terminal.run("link", "revoke", (await openLink()).id);
  expect(unreached.exitCode).toBe(0);
  expect(unreached.out.join("\n")).toContain("could not be told");
  answer.status = 200;
  const unoffered = await terminalWith("").run("link", "revoke", (await openLink()).id);
  expect(unoffered.out.join("\n")).toContain("offers no way to be told");
  const bare = createTerminal({ openStore });
  const unknown = await bare.run("link", "revoke", (await openLink()).id);
  expect(unknown.out.join("\n")).toContain("could not be told");
  expect(revoked).toHaveLength(told);
});
