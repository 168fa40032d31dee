import type { Store } from "../../store/store.ts";
import type { CliParts } from "./cli-parts.ts";

/** Opens the store for one command and closes it whatever happens. */
export const withStore = <Result>(parts: CliParts, use: (store: Store) => Promise<Result>): Promise<Result> =>
  closing(parts.openStore(), use);

/** The same where there may be no data yet. */
export const withNewStore = <Result>(
  parts: CliParts,
  use: (store: Store) => Promise<Result>,
): Promise<Result> => closing(parts.openOrBeginStore(), use);

async function closing<Result>(
  opening: Promise<Store>,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await opening;
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
