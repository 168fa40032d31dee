import { describe } from "bun:test";
import { storeConformance } from "../../store/store-conformance.ts";
import { receiptsConformance } from "../../ledger/conformance/receipts-conformance.ts";
import type { OpenStore } from "../../ledger/conformance/shared-conformance.ts";
import { openTestDatabase } from "../../../../test/services/postgres.ts";
import { openPostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";

async function openWith(options: Partial<PostgresStoreOptions>): ReturnType<OpenStore> {
  const { url, drop } = await openTestDatabase({ template: migrated });
  const open = () => openPostgresStore({ connectionsMax: 4, ...options, url });
  let store = await open();
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = await open());
    },
    close: async () => {
      await store.close();
      await drop();
    },
  };
}

async function migrated(url: string): Promise<void> {
  const store = await openPostgresStore({ url });
  await store.close();
}

storeConformance("Postgres", () => openWith({}));

describe("Postgres, three calls looked at for a page", () =>
  receiptsConformance(() => openWith({ lookedThroughMax: 3 })));
