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
  for (const host of ["127.0.0.1:5432", "[::1]", "10.1.2.3", "postgres", "db.internal", "pg.shop.svc"])
    expect(store(`${host}/books`)).toEqual([]);
  expect(notesOn({})).toEqual([]);
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
