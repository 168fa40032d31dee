import { expect, test } from "bun:test";
import { readSettings } from "./environment.ts";
import { sentInTheClear } from "./sent-in-the-clear.ts";

const notesOn = (environment: Readonly<Record<string, string>>): string[] =>
  sentInTheClear(readSettings(environment, import.meta.dir), environment);

test("books that travel unencrypted through strangers' networks are told to the operator", () => {
  const store = (place: string, more: Readonly<Record<string, string>> = {}) =>
    notesOn({ TOLLGATE_STORE: `postgres://me:hunter22@${place}`, ...more });
  const told = (host: string): string[] => [
    `TOLLGATE_STORE: the books travel unencrypted to ${host}; write ?sslmode=verify-full behind the address`,
  ];
  for (const host of ["db.example.com", "8.8.8.8"]) {
    expect(store(`${host}/books`)).toEqual(told(host));
    expect(store(`${host}:5432/books?sslmode=disable`)).toEqual(told(host));
    for (const words of ["sslmode=require", "sslmode=verify-full&sslrootcert=ca.pem", "ssl=true", "tls=true"])
      expect(store(`${host}/books?${words}`)).toEqual([]);
    expect(store(`${host}/books`, { PGSSLMODE: "require" })).toEqual([]);
  }
  for (const host of [
    "127.0.0.1:5432",
    "[::1]",
    "%2Frun%2Fdb.example.com",
    "%zz",
    "10.1.2.3",
    "postgres",
    "db.internal",
    "pg.shop.svc",
  ])
    expect(store(`${host}/books`)).toEqual([]);
  expect(notesOn({})).toEqual([]);
});

test("where they travel, and how, is read as the driver reads it", async () => {
  const seen = async (address: string, environment: Readonly<Record<string, string>> = {}) => {
    const program = `const { hostname, path, sslMode } = new Bun.SQL(${JSON.stringify(address)}).options;
      console.log(path === undefined && sslMode === 0 ? hostname : "nowhere");`;
    const driver = Bun.spawn([process.execPath, "-e", program], { env: environment, stdout: "pipe" });
    const [note = "unencrypted to nowhere;"] = notesOn({ TOLLGATE_STORE: address, ...environment });
    return [/unencrypted to (\S+);/.exec(note)?.[1], (await new Response(driver.stdout).text()).trim()];
  };
  for (const [place, host, environment] of [
    ["/books?host=/var/run/postgresql", "nowhere"],
    ["%2Fvar%2Frun%2Fdb.example.com/books", "nowhere"],
    ["/books", "db.example.org", { PGHOST: "db.example.org" }],
    ["10.0.0.1/books?host=db.example.com", "db.example.com"],
    ["db.example.com/books?ssl=0", "db.example.com"],
    ["db.example.com/books?sslmode=DISABLE", "db.example.com"],
    ["db.example.com/books?SSLMODE=require", "nowhere"],
    ["db.example.com/books?sslmode=require&ssl=false", "db.example.com"],
    ["db.example.com/books?sslmode=disable", "db.example.com", { PGSSLMODE: "require" }],
  ] as const)
    expect(await seen(`postgres://${place}`, environment)).toEqual([host, host]);
});

test("so is the password of a Redis", () => {
  const limits = (place: string): string[] => notesOn({ TOLLGATE_LIMITS: place });
  expect(limits("redis://:hunter22@redis.example.com:6379/0")).toEqual([
    "TOLLGATE_LIMITS: the password travels unencrypted to redis.example.com; write rediss://",
  ]);
  expect(limits("rediss://:hunter22@redis.example.com:6379/0")).toEqual([]);
  expect(limits("redis://redis.example.com:6379/0")).toEqual([]);
  expect(limits("redis://:hunter22@redis:6379/0")).toEqual([]);
});
