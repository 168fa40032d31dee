import { lifeOfGrant } from "../../../../grants/grants.ts";
import { createKeySecret } from "../../../../keys/key-format.ts";
import type { Key, KeyChange } from "../../../../keys/keys.ts";
import type { Store } from "../../../../store/store.ts";
import { isoTime } from "../../../../platform/clock.ts";
import { isLive } from "../../../../platform/life.ts";
import { prefixedId } from "../../../../platform/prefixed-id.ts";
import { knownAccount } from "../account/account.ts";
import type { CliParts } from "../../cli-parts.ts";
import {
  CommandFailed,
  defineCommand,
  optional,
  required,
  toggle,
  WrongUsage,
  type Answer,
} from "../../command.ts";
import {
  allowedFlags,
  readAllowed,
  readAllowedChange,
  shortPatternsText,
  warnOfUnknown,
} from "./key-allowed.ts";
import {
  budgetText,
  endings,
  endOfSecretMs,
  keyJson,
  keyLines,
  standingOf,
  type KeyStanding,
} from "./key-standing.ts";
import { isoTimeOrNull, table } from "../../output.ts";
import { readBudget, readDurationMs, readFutureMs, readScope, readText } from "../../values.ts";
import { withStore } from "../../with-store.ts";

const scopeHelp = "whose usage it sees: its own (key) or the whole account's (account)";
const budgetHelp = "the most it may spend in a window";
const windowHelp = "day, month (both UTC) or total";
const expiresHelp = "a date like 2030-01-31 (0:00 UTC) or a moment like 2030-01-31T18:00:00Z";

export const keyIssue = defineCommand({
  words: ["key", "issue"],
  summary: "issues a key and prints it once",
  flags: {
    account: required("ID", "the account that pays for its calls"),
    name: optional("N", "what it is for"),
    scope: optional("key|account", `${scopeHelp}; key when not given`),
    "budget-usd": optional("X", budgetHelp),
    "budget-window": optional("day|month|total", windowHelp),
    ...allowedFlags,
    expires: optional("DATE", expiresHelp),
  },
  run: async ({ flags }, parts) => {
    const nowMs = parts.clock.wallMs();
    const wanted = {
      id: prefixedId("key_", parts.newId),
      accountId: flags.account,
      name: readText("name", flags.name ?? "key"),
      scope: readScope("scope", flags.scope ?? "key"),
      budget: readBudget(flags["budget-usd"], flags["budget-window"]),
      ...readAllowed(flags),
      expiresAtMs: flags.expires === undefined ? undefined : readFutureMs("expires", flags.expires, nowMs),
      nowMs,
    };
    const answer = await withStore(parts, async (store) => {
      knownAccount(flags.account, await store.accounts.find(flags.account));
      const secret = await makeSecret(parts);
      const key = knownKey(wanted.id, await store.keys.issue({ ...wanted, ...secret.stored }));
      return secretAnswer(await standingOf(key, store, nowMs), secret.key, "");
    });
    await warnOfUnknown(wanted, parts);
    return answer;
  },
});

export const keyList = defineCommand({
  words: ["key", "list"],
  summary: "lists the keys, never their secrets",
  flags: { account: optional("ID", "only the keys of this account") },
  run: async ({ flags }, parts) => {
    const nowMs = parts.clock.wallMs();
    const standings = await withStore(parts, async (store) => {
      if (flags.account !== undefined) knownAccount(flags.account, await store.accounts.find(flags.account));
      const keys = await store.keys.list(flags.account);
      return Promise.all(keys.map((key) => standingOf(key, store, nowMs)));
    });
    const rows = standings.map((standing) => [
      standing.key.id,
      standing.key.accountId,
      standing.key.name,
      standing.key.scope,
      standing.state,
      budgetText(standing),
      shortPatternsText(standing.key.allowedModels),
      shortPatternsText(standing.key.allowedOperations),
      isoTimeOrNull(standing.key.expiresAtMs) ?? "never",
      endings(standing),
    ]);
    return {
      lines: table(
        ["KEY", "ACCOUNT", "NAME", "SCOPE", "STATE", "BUDGET", "MODELS", "OPERATIONS", "EXPIRES", "ENDS IN"],
        rows,
        "There are no keys yet.",
      ),
      json: { keys: standings.map(keyJson) },
      exitCode: 0,
    };
  },
});

export const keyUpdate = defineCommand({
  words: ["key", "update"],
  operand: "KEY_ID",
  summary:
    "changes a key's name, scope, budget, expiry or what it may call; a running server follows within 5 s",
  flags: {
    name: optional("N", "what it is for"),
    scope: optional("key|account", scopeHelp),
    "budget-usd": optional("X", budgetHelp),
    "budget-window": optional("day|month|total", windowHelp),
    "no-budget": toggle("let it spend what the account has"),
    ...allowedFlags,
    "all-models": toggle("let it call every model"),
    "all-operations": toggle("let it call every operation"),
    expires: optional("DATE", expiresHelp),
    "no-expiry": toggle("let it live until it is revoked"),
  },
  run: async ({ operand, flags }, parts) => {
    const nowMs = parts.clock.wallMs();
    const budget = readBudget(flags["budget-usd"], flags["budget-window"]);
    if (budget && flags["no-budget"])
      throw new WrongUsage("--budget-usd and --no-budget exclude each other.");
    if (flags.expires !== undefined && flags["no-expiry"]) {
      throw new WrongUsage("--expires and --no-expiry exclude each other.");
    }
    const change: KeyChange = {
      ...(flags.name !== undefined && { name: readText("name", flags.name) }),
      ...(flags.scope !== undefined && { scope: readScope("scope", flags.scope) }),
      ...((budget || flags["no-budget"]) && { budget: budget ?? null }),
      ...(flags.expires !== undefined && { expiresAtMs: readFutureMs("expires", flags.expires, nowMs) }),
      ...(flags["no-expiry"] && { expiresAtMs: null }),
      ...readAllowedChange(flags),
    };
    if (Object.keys(change).length === 0) {
      throw new WrongUsage(
        "Nothing to change: give --name, --scope, --budget-usd with --budget-window, --no-budget, --models, " +
          "--all-models, --operations, --all-operations, --expires or --no-expiry.",
      );
    }
    const answer = await withStore(parts, async (store) => {
      const key = knownKey(operand, await store.keys.update(operand, change));
      return keyAnswer(await standingOf(key, store, nowMs));
    });
    await warnOfUnknown(change, parts);
    return answer;
  },
});

export const keyRotate = defineCommand({
  words: ["key", "rotate"],
  operand: "KEY_ID",
  summary: "gives a key a new secret, prints it once, and lets the old one live for a while",
  flags: {
    grace: optional(
      "24h",
      "how long the old secret still works, like 30s, 15m or 7d; 24h when not given, 0s when it has leaked",
    ),
  },
  run: async ({ operand, flags }, parts) => {
    const nowMs = parts.clock.wallMs();
    const graceEndsAtMs = nowMs + readDurationMs("grace", flags.grace ?? "24h");
    return withStore(parts, async (store) => {
      const before = knownKey(operand, await store.keys.find(operand));
      if (before.revokedAtMs !== undefined)
        throw new CommandFailed(`Key ${operand} is revoked, and that is for ever.`);
      if (before.expiresAtMs !== undefined && !isLive(before, nowMs))
        throw new CommandFailed(expired(operand, before.expiresAtMs));
      const secret = await makeSecret(parts);
      const rotation = { keyId: operand, ...secret.stored, nowMs, graceEndsAtMs };
      const key = knownKey(operand, await store.keys.rotate(rotation));
      const grace =
        graceEndsAtMs > nowMs
          ? `The old secret works until ${isoTime(endOfSecretMs(graceEndsAtMs, key))}. `
          : "The old secret has ended; a running server follows within 5 s. ";
      const remark = grace + (await remarkOnClients(key, store, nowMs));
      return secretAnswer(await standingOf(key, store, nowMs), secret.key, remark);
    });
  },
});

const expired = (keyId: string, atMs: number): string =>
  `Key ${keyId} expired at ${isoTime(atMs)}, and a new secret would not work either. Give it time first: ` +
  `tollgate key update ${keyId} --expires DATE, or --no-expiry.`;

/** Whoever rotates a leaked secret must know that clients that signed in with it no longer need it. */
async function remarkOnClients({ id, accountId }: Key, store: Store, nowMs: number): Promise<string> {
  const grants = await store.grants.list(accountId);
  const live = grants.filter((grant) => grant.keyId === id && lifeOfGrant(grant, nowMs) === "active");
  return live.length === 0
    ? ""
    : `Clients that signed in with this key stay signed in (${live.length}); if its secret leaked, look at ` +
        '"tollgate grant list" and end them with "tollgate grant revoke". ';
}

export const keyRevoke = defineCommand({
  words: ["key", "revoke"],
  operand: "KEY_ID",
  summary: "ends a key for ever, with every secret it had; a running server follows within 5 s",
  flags: {},
  run: async ({ operand }, parts) => {
    const nowMs = parts.clock.wallMs();
    return withStore(parts, async (store) => {
      const key = knownKey(operand, await store.keys.revoke(operand, nowMs));
      return keyAnswer(await standingOf(key, store, nowMs));
    });
  },
});

function knownKey(keyId: string, key: Key | undefined): Key {
  if (key) return key;
  if (keyId.startsWith("tgk_")) {
    throw new CommandFailed(
      'That is a key itself; this command takes its id, which "tollgate key list" shows.',
    );
  }
  throw new CommandFailed(`There is no key ${keyId}.`);
}

async function makeSecret(parts: CliParts) {
  const key = createKeySecret(parts.randomBytes);
  const { hashKey } = await parts.secrets();
  return { key, stored: { secretHash: hashKey(key), last4: key.slice(-4) } };
}

const keyAnswer = (standing: KeyStanding): Answer => ({
  lines: keyLines(standing),
  json: keyJson(standing),
  exitCode: 0,
});

/** The one answer that contains a secret. */
const secretAnswer = (standing: KeyStanding, secret: string, remark: string): Answer => ({
  lines: [
    ...keyLines(standing),
    "",
    `${remark}This is the key. It is shown only this once, so keep it now:`,
    secret,
  ],
  json: { ...keyJson(standing), key: secret },
  exitCode: 0,
});
