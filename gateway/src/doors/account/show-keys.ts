import { isLive } from "../../platform/life.ts";
import type { Key } from "../../keys/keys.ts";
import { seesAccount } from "../../keys/seen-by.ts";
import { lastDays } from "../../usage/last-days.ts";
import { readUsage } from "../../usage/usage-report.ts";
import { accountResponse } from "../people/account-layout.ts";
import { keysPage, notForThisKeyPage, type KeySpending } from "./keys-page.ts";
import type { Reader } from "./reader.ts";

const daysShown = 30;
/** Each is looked up by itself. */
const keysPerPage = 25;

/** The keys of the account, those that work first; only for a key that sees all of it. */
export async function showKeys(reader: Reader, query: URLSearchParams): Promise<Response> {
  const { asker, store } = reader;
  if (!seesAccount(asker)) return accountResponse(notForThisKeyPage, reader, 403);
  const rank = (key: Key): number => (isLive(key, asker.nowMs) ? 0 : 1);
  const keys = (await store.keys.list(asker.accountId)).toSorted(
    (a, b) => rank(a) - rank(b) || b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1),
  );
  const after = query.get("cursor");
  const start = after === null ? 0 : keys.findIndex(({ id }) => id === after) + 1;
  const shown = keys.slice(start, start + keysPerPage);
  const window = lastDays(daysShown, asker.nowMs);
  const listed: KeySpending[] = [];
  for (const key of shown) {
    const { accountId, id: keyId, budget } = key;
    listed.push({
      key,
      usage: await readUsage(store.usage, { accountId, keyId }, window),
      budgetUse: budget && (await store.keys.budgetUse(keyId, budget.window, asker.nowMs)),
    });
  }
  const more = start + keysPerPage < keys.length ? shown.at(-1)?.id : undefined;
  return accountResponse(
    keysPage({ keys: listed, days: daysShown, more, isFirst: start === 0, nowMs: asker.nowMs }),
    reader,
  );
}
