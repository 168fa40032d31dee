import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSealing } from "../../keys/sealing.ts";
import { createSecrets } from "../../keys/secrets.ts";
import type { Store } from "../../store/store.ts";
import { openSqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { createRecordAdapters } from "./record-adapter.ts";

let folder: string;
let store: Store;
let nowMs: number;
let adapterOf: ReturnType<typeof createRecordAdapters>;

const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-records-"));
  store = openSqliteStore({ path: join(folder, "tollgate.db") });
  nowMs = Date.UTC(2026, 9, 20, 12);
  const secrets = createSecrets("a secret for tests");
  adapterOf = createRecordAdapters({
    records: store.signIns,
    grants: store.grants,
    secrets,
    sealing: createSealing(secrets.keyFor("test"), randomBytes),
    nowMs: () => nowMs,
    knowsRegistered: true,
    ended: () => new Error("ended"),
  });
  const account = {
    id: "acc",
    name: "A",
    tier: "free",
    planMultiplierPpm: 1_000_000n,
    creditMicros: 0n,
  } as const;
  await store.accounts.create({ ...account, nowMs });
  await store.keys.issue({
    id: "key",
    accountId: "acc",
    name: "k",
    scope: "key",
    budget: undefined,
    expiresAtMs: undefined,
    secretHash: randomBytes(32),
    last4: "abcd",
    nowMs,
  });
  await store.grants.create({
    id: "grant",
    accountId: "acc",
    keyId: "key",
    clientId: "client",
    clientName: "Client",
    redirectHost: "client.example",
    scopes: ["tools:read"],
    spendPolicy: { perCallMicros: 0n, perDayMicros: 0n, expiresAtMs: nowMs + 60_000 },
    createdAtMs: nowMs,
  });
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test("what is remembered comes back with the id it is asked for by, until its time", async () => {
  const codes = adapterOf("AuthorizationCode");
  await codes.upsert(
    "code-1",
    { jti: "code-1", kind: "AuthorizationCode", clientId: "client", grantId: "grant" },
    60,
  );
  const found = { jti: "code-1", kind: "AuthorizationCode", clientId: "client", grantId: "grant" };
  expect(await codes.find("code-1")).toEqual(found);
  expect(await codes.find("code-2")).toBeUndefined();
  expect(await adapterOf("RefreshToken").find("code-1")).toBeUndefined();
  nowMs += 60_000;
  expect(await codes.find("code-1")).toBeUndefined();
});

test("of two who use a code at the same moment, one is told that it is used", async () => {
  const codes = adapterOf("AuthorizationCode");
  await codes.upsert("code", { jti: "code", grantId: "grant" }, 60);
  expect([await codes.find("code"), await codes.find("code")]).toMatchObject([{}, {}]);
  const outcomes = await Promise.allSettled([codes.consume("code"), codes.consume("code")]);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(await codes.find("code")).toHaveProperty("consumed");
});

test("a refresh token counts as used only half a minute after its first use", async () => {
  const tokens = adapterOf("RefreshToken");
  await tokens.upsert("token", { jti: "token", grantId: "grant" }, 3600);
  await tokens.consume("token");
  nowMs += 20_000;
  await tokens.consume("token");
  nowMs += 9_999;
  expect(await tokens.find("token")).not.toHaveProperty("consumed");
  nowMs += 1;
  expect(await tokens.find("token")).toHaveProperty("consumed");
});

test("nothing of a grant is found or written after it was revoked, and a grant is not found after its time", async () => {
  const tokens = adapterOf("RefreshToken");
  const grants = adapterOf("Grant");
  await tokens.upsert("token", { jti: "token", grantId: "grant" }, 3600);
  await grants.upsert("grant", { jti: "grant", clientId: "client" }, 3600);
  expect(await grants.find("grant")).toMatchObject({ clientId: "client" });
  nowMs += 60_000;
  expect(await grants.find("grant")).toBeUndefined();
  nowMs -= 60_000;
  await tokens.revokeByGrantId("grant");
  expect(await tokens.find("token")).toBeUndefined();
  expect(await grants.find("grant")).toBeUndefined();
  expect(
    await Promise.resolve(tokens.upsert("new", { jti: "new", grantId: "grant" }, 60)).catch(String),
  ).toBe("Error: ended");
});

test("records past their time are swept by those who bring new ones", async () => {
  const interactions = adapterOf("Interaction");
  for (let n = 0; n < 20; n++) await interactions.upsert(`old-${n}`, { jti: `old-${n}` }, 1);
  nowMs += 1_000;
  for (let n = 0; n < 3; n++) await interactions.upsert(`new-${n}`, { jti: `new-${n}` }, 60);
  nowMs -= 1_000;
  const left = await Promise.all(Array.from({ length: 20 }, (_, n) => interactions.find(`old-${n}`)));
  expect(left.filter((record) => record !== undefined)).toEqual([]);
});

test("when too many clients were registered the oldest that nobody used give way, and those in use stay", async () => {
  const clients = adapterOf("Client");
  for (const id of ["used", "old", "middle", "new"]) {
    await clients.upsert(id, { client_id: id }, 0);
    nowMs += 1_000;
  }
  await clients.consume("used");
  await store.signIns.keepUnused("Client", 2);
  const found = await Promise.all(["used", "old", "middle", "new"].map((id) => clients.find(id)));
  expect(found.map((client) => client !== undefined)).toEqual([true, false, true, true]);
});
