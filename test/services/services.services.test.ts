// The helpers that other tests trust.

import { RedisClient, SQL } from "bun";
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { openTestDatabase, startPrivatePostgres } from "./postgres.ts";
import { redisForTests, startPrivateRedis } from "./redis.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

const frozenMs = 300;

test("a database is empty, and nobody else's", async () => {
  const [one, other] = [await openDatabase(), await openDatabase()];
  await one.sql`CREATE TABLE notes (text text)`;

  expect(await tablesOf(one.sql)).toEqual(["notes"]);
  expect(await tablesOf(other.sql)).toEqual([]);
});

test("a template is filled once, and each database is a copy of its own", async () => {
  let filled = 0;
  const template = async (url: string) => {
    filled++;
    const sql = new SQL(url);
    await sql`CREATE TABLE notes (text text)`;
    await sql.end();
  };
  const [one, other] = [await openDatabase({ template }), await openDatabase({ template })];
  await one.sql`INSERT INTO notes VALUES ('mine')`;

  expect(await one.sql`SELECT text FROM notes`.values()).toEqual([["mine"]]);
  expect(await other.sql`SELECT text FROM notes`.values()).toEqual([]);
  expect(filled).toBe(1);
});

test("a dropped database is gone, whoever was still connected", async () => {
  const { url, drop } = await openTestDatabase();
  const left = new SQL(url, { max: 1 });
  await left`SELECT 1`;
  await drop();

  const late = new SQL(url, { max: 1 });
  cleanUps.push(() => late.close());
  expect(await failureOf(late`SELECT 1`)).toContain("does not exist");
});

test("what a killed run left on the server goes, and what others use stays", async () => {
  const { url, sql } = await openDatabase();
  await sql`CREATE DATABASE tollgate_test_dead_1`;
  const helper = JSON.stringify(join(import.meta.dir, "postgres.ts"));
  const program = `const { openTestDatabase } = await import(${helper}); await (await openTestDatabase()).drop(); process.exit(0);`;
  const other = Bun.spawn([process.execPath, "-e", program], { stdio: ["ignore", "inherit", "inherit"] });
  expect(await other.exited).toBe(0);

  const rows: { name: string }[] =
    await sql`SELECT datname AS name FROM pg_database WHERE starts_with(datname, 'tollgate_test_')`;
  const present = rows.map(({ name }) => name);
  expect(present).toContain(new URL(url).pathname.slice(1));
  expect(present).not.toContain("tollgate_test_dead_1");
});

test("a Postgres of one's own keeps what it confirmed when it is stopped hard and started again", async () => {
  const server = await startPrivatePostgres();
  cleanUps.push(server.close);
  const before = new SQL(server.url, { max: 1 });
  await before`CREATE TABLE notes (text text)`;
  await before`INSERT INTO notes VALUES ('kept')`;
  await server.stopHard();
  const during = new SQL(server.url, { max: 1 });
  expect(await failureOf(during`SELECT 1`)).toContain("Failed to connect");
  await server.start();

  const after = new SQL(server.url, { max: 1 });
  expect(await after`SELECT text FROM notes`.values()).toEqual([["kept"]]);
  await after.close();
});

test("a frozen Postgres answers nobody until it thaws", async () => {
  const server = await startPrivatePostgres();
  cleanUps.push(server.close);
  const sql = new SQL(server.url, { max: 1 });
  await sql`SELECT 1`;
  server.freeze();
  const answer = sql`SELECT 2`.values();
  expect(await isSettledSoon(answer)).toBe(false);
  server.thaw();

  expect(await answer).toEqual([[2]]);
  await sql.close();
});

test("databases of Redis are empty, and two are different", async () => {
  const [one, other] = [
    await openRedis((await redisForTests()).url),
    await openRedis((await redisForTests()).url),
  ];
  await one.set("note", "mine");

  expect(await one.get("note")).toBe("mine");
  expect(await other.get("note")).toBeNull();
});

test("a Redis of one's own with a password answers nobody without it", async () => {
  const server = await startPrivateRedis({ password: "for-tests-only" });
  cleanUps.push(server.close);

  expect(await server.send("PING")).toBe("PONG");
  expect(await failureOf(openRedis(`redis://127.0.0.1:${server.port}`))).toContain("Connection closed");
});

test("a Redis of one's own can be frozen, and comes back empty when it was killed", async () => {
  const server = await startPrivateRedis();
  cleanUps.push(server.close);
  const before = await openRedis(server.url);
  await before.set("note", "mine");
  server.freeze();
  const answer = before.get("note");
  expect(await isSettledSoon(answer)).toBe(false);
  server.thaw();
  expect(await answer).toBe("mine");

  await server.kill();
  expect(await failureOf(openRedis(server.url))).toContain("Connection closed");
  await server.start();
  expect(await server.send("GET", "note")).toBeNull();
});

async function openDatabase(options: Parameters<typeof openTestDatabase>[0] = {}) {
  const { url, drop } = await openTestDatabase(options);
  const sql = new SQL(url, { max: 2 });
  cleanUps.push(drop, () => sql.close());
  return { url, sql };
}

async function openRedis(url: string): Promise<RedisClient> {
  const client = new RedisClient(url, { autoReconnect: false });
  cleanUps.push(() => client.close());
  await client.connect();
  return client;
}

async function tablesOf(sql: SQL): Promise<readonly string[]> {
  const rows: { tablename: string }[] =
    await sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`;
  return rows.map(({ tablename }) => tablename);
}

async function failureOf(trying: Promise<unknown>): Promise<string> {
  try {
    await trying;
  } catch (error) {
    return String(error);
  }
  throw new Error("It did not fail.");
}

const isSettledSoon = (answer: Promise<unknown>) =>
  Promise.race([
    answer.then(
      () => true,
      () => true,
    ),
    Bun.sleep(frozenMs).then(() => false),
  ]);
