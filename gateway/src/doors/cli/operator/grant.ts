import { expiryWithKeyMs, lifeWithKey, type Grant } from "../../../grants/grants.ts";
import { budgetWindowStartMs } from "../../../keys/budget-window.ts";
import type { Store } from "../../../store/store.ts";
import { usdFromMicros } from "../../../platform/money.ts";
import { isoTime } from "../../../platform/clock.ts";
import { knownAccount } from "./account/account.ts";
import { CommandFailed, defineCommand, optional } from "../command.ts";
import { fieldLines, inOneLine, isoTimeOrNull, table } from "../output.ts";
import { withStore } from "../with-store.ts";

export const grantList = defineCommand({
  words: ["grant", "list"],
  summary: "lists the clients that people let in by signing in, newest first",
  flags: { account: optional("ID", "of this account only") },
  run: async ({ flags }, parts) => {
    const nowMs = parts.clock.wallMs();
    const grants = await withStore(parts, async (store) => {
      if (flags.account !== undefined) knownAccount(flags.account, await store.accounts.find(flags.account));
      const found = await store.grants.list(flags.account);
      return Promise.all(found.map((grant) => grantJson(store, grant, nowMs)));
    });
    const head = [
      "GRANT",
      "ACCOUNT",
      "CLIENT",
      "STATE",
      "SCOPES",
      "PER CALL",
      "PER DAY",
      "SPENT TODAY",
      "EXPIRES",
    ];
    const rows = grants.map((grant) => [
      grant.grant_id,
      grant.account_id,
      `${grant.client_name} (${grant.redirect_host})`,
      grant.state,
      grant.scopes.join(" "),
      grant.per_call_usd,
      grant.per_day_usd,
      usdFromMicros(BigInt(grant.spent_today_micros_usd)),
      grant.expires_at,
    ]);
    return { lines: table(head, rows, "There are no grants."), json: { grants }, exitCode: 0 };
  },
});

export const grantRevoke = defineCommand({
  words: ["grant", "revoke"],
  operand: "GRANT_ID",
  summary: "ends what a client was allowed; its tokens stop at once",
  flags: {},
  run: async ({ operand }, parts) => {
    const nowMs = parts.clock.wallMs();
    const json = await withStore(parts, async (store) => {
      const grant = await store.grants.revoke(operand, nowMs);
      return grant && grantJson(store, grant, nowMs);
    });
    if (!json) throw new CommandFailed(`There is no grant ${operand}.`);
    const { grant_id: grant, account_id: account, client_name: client, state } = json;
    return { lines: fieldLines({ grant, account, client, state }), json, exitCode: 0 };
  },
});

async function grantJson(store: Store, grant: Grant, nowMs: number) {
  const { spendPolicy, revokedAtMs } = grant;
  const key = await store.keys.find(grant.keyId);
  const state = lifeWithKey(grant, key, nowMs);
  const { spentMicros, heldMicros } = await store.grants.dayUse(grant.id, budgetWindowStartMs("day", nowMs));
  return {
    grant_id: grant.id,
    account_id: grant.accountId,
    key_id: grant.keyId,
    client_id: grant.clientId,
    client_name: inOneLine(grant.clientName),
    redirect_host: grant.redirectHost,
    state,
    scopes: grant.scopes,
    per_call_usd: usdFromMicros(spendPolicy.perCallMicros),
    per_day_usd: usdFromMicros(spendPolicy.perDayMicros),
    spent_today_micros_usd: Number(spentMicros),
    held_micros_usd: Number(heldMicros),
    created_at: isoTime(grant.createdAtMs),
    expires_at: isoTime(expiryWithKeyMs(grant, key)),
    revoked_at: isoTimeOrNull(revokedAtMs ?? (state === "revoked" ? key?.revokedAtMs : undefined)),
  };
}
