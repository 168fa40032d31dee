import { storeConformance } from "../../books/store-conformance.ts";
import type { OpenStore } from "../../ledger/shared-conformance.ts";
import { openTestDatabase } from "../../../../test/services/postgres.ts";
import { openPostgresStore } from "./postgres-store.ts";

const openStore: OpenStore = async () => {
  const { url, drop } = await openTestDatabase({ template: migrated });
  let store = await openPostgresStore({ url, connectionsMax: 4 });
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = await openPostgresStore({ url, connectionsMax: 4 }));
    },
    close: async () => {
      await store.close();
      await drop();
    },
  };
};

const migrated = async (url: string): Promise<void> => {
  const store = await openPostgresStore({ url });
  await store.close();
};

storeConformance("Postgres", openStore);
