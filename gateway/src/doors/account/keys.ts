import type { Key } from "../../keys/keys.ts";
import { readUsage } from "../../usage/usage-report.ts";
import { accountResponse } from "./account-layout.ts";
import { keysPage, notForThisKeyPage, type KeyStanding } from "./keys-page.ts";
import type { Reader } from "./reader.ts";

const secondsPerDay = 86_400;
const daysShown = 30;
/** Each is looked up by itself. */
const keysPerPage = 25;

/** The keys of the account, those that work first; only for a key that sees all of it. */
export async function showKeys(reader: Reader, query: URLSearchParams): Promise<Response> {
  const { asker, store } = reader;
  if (asker.scope !== "account") return accountResponse(notForThisKeyPage, reader, 403);
  const isOver = ({ revokedAtMs, expiresAtMs }: Key): boolean =>
    revokedAtMs !== undefined || (expiresAtMs ?? Infinity) <= asker.nowMs;
  const keys = (await store.keys.list(asker.accountId)).toSorted(
    (a, b) =>
      Number(isOver(a)) - Number(isOver(b)) || b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1),
  );
  const after = query.get("cursor");
  const start = after === null ? 0 : keys.findIndex(({ id }) => id === after) + 1;
  const shown = keys.slice(start, start + keysPerPage);
  const nowSeconds = Math.floor(asker.nowMs / 1000);
  const today = nowSeconds - (nowSeconds % secondsPerDay);
  const window = { startSeconds: today - (daysShown - 1) * secondsPerDay, endSeconds: nowSeconds + 1 };
  const standings: KeyStanding[] = [];
  for (const key of shown) {
    const { accountId, id: keyId, budget } = key;
    standings.push({
      key,
      usage: await readUsage(store.usage, { accountId, keyId }, window),
      budgetUse: budget && (await store.keys.budgetUse(keyId, budget.window, asker.nowMs)),
    });
  }
  const more = start + keysPerPage < keys.length ? shown.at(-1)?.id : undefined;
  return accountResponse(
    keysPage({ standings, days: daysShown, more, isFirst: start === 0, nowMs: asker.nowMs }),
    reader,
  );
}
