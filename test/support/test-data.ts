// Where gateways of tests keep their data: an SQLite file, or a database of the Postgres that npm run test:services
// started, if TOLLGATE_TEST_STORE says so. Every journey can be made on both (journeys.services.test.ts).

import { SQL } from "bun";
import { Database } from "bun:sqlite";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../gateway/src/store/store.ts";
import { systemClock, type Clock } from "../../gateway/src/platform/clock.ts";
import { openPostgresStore } from "../../gateway/src/stores/postgres/postgres-store.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { writeNewFile } from "../../gateway/src/stores/sqlite/file/test-new-file.ts";
import { openTestDatabase } from "../services/postgres.ts";

export const testStore: "sqlite" | "postgres" =
  process.env["TOLLGATE_TEST_STORE"] === "postgres" ? "postgres" : "sqlite";

export interface TestData {
  /** The data through a connection of its own, as each process has one. */
  readonly open: (clock: Clock, sqlite?: SqliteOptions) => Promise<Store>;
  /** A statement from outside, behind every gateway's back; in the words of each store where they differ. */
  readonly query: <Row extends object>(
    statement: string | Readonly<Record<typeof testStore, string>>,
  ) => Promise<readonly Row[]>;
  /** Whatever is stored, in a form in which a text that was stored as it is would be found. */
  readonly everything: () => Promise<string>;
  /** Of SQLite's file; tests that ask for it say nothing about Postgres. */
  readonly path: () => string;
  readonly close: () => Promise<void>;
}

export type SqliteOptions = Omit<SqliteStoreOptions, "path">;

export const openTestData = async (folder?: string): Promise<TestData> =>
  testStore === "sqlite" ? openInFile(folder) : openInDatabase(folder);

function openInFile(given: string | undefined): TestData {
  const folder = given ?? mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const path = join(folder, "tollgate.db");
  if (!existsSync(path)) writeNewFile(path);
  return {
    open: async (_, sqlite) => openSqliteStore({ path, ...sqlite }),
    query: async <Row extends object>(statement: string | { readonly sqlite: string }) => {
      const db = new Database(path);
      try {
        return db.query<Row, []>(typeof statement === "string" ? statement : statement.sqlite).all();
      } finally {
        db.close();
      }
    },
    everything: async () =>
      [path, `${path}-wal`]
        .filter((file) => existsSync(file))
        .map((file) => readFileSync(file, "latin1"))
        .join(""),
    path: () => path,
    close: async () => {
      if (given === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openInDatabase(folder: string | undefined): Promise<TestData> {
  if (folder !== undefined) throw new Error("Data in Postgres is shared by its TestData, not by a folder.");
  const { url, drop } = await openTestDatabase({ template: migrated });
  const outside = new SQL(url, { max: 1, bigint: true, connection: { bytea_output: "escape" } });
  const ask = async <Row extends object>(sql: string): Promise<readonly Row[]> =>
    (await outside.unsafe<Record<string, unknown>[]>(sql)).map((row) => withNumbers(row) as Row);
  return {
    open: (clock, sqlite) => {
      if (sqlite !== undefined) throw new Error("This test is about SQLite.");
      // A test's clock may stand still or leap; what waits for the server waits in real time.
      const { wallMs } = clock;
      return openPostgresStore({ url, connectionsMax: 4, clock: { ...systemClock, wallMs } });
    },
    query: (statement) => ask(typeof statement === "string" ? statement : statement.postgres),
    everything: async () => {
      const tables = await ask<{ name: string }>(
        "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
      );
      const texts = tables.map(({ name }) =>
        ask<{ text: string }>(`SELECT row::text AS text FROM "${name}" AS row`),
      );
      return (await Promise.all(texts))
        .flat()
        .map(({ text }) => text)
        .join("\n");
    },
    path: () => {
      throw new Error("This test is about SQLite's file.");
    },
    close: async () => {
      await outside.close();
      await drop();
    },
  };
}

/** Makes the tables of an empty database. */
export const migrated = async (url: string): Promise<void> => (await openPostgresStore({ url })).close();

/** SQLite gives numbers. */
const withNumbers = (row: Record<string, unknown>): object =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]),
  );
