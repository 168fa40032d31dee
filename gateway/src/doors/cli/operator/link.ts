import { endLink, type EndedLink } from "../../../links/end-link.ts";
import { linkReport } from "../../../links/link-report.ts";
import type { Link } from "../../../links/links.ts";
import { createVault } from "../../../links/vault.ts";
import { createLog } from "../../../platform/log.ts";
import { knownAccount } from "./account/account.ts";
import { CommandFailed, defineCommand, optional, type Answer } from "../command.ts";
import { fieldLines, isoTimeOrNull, table } from "../output.ts";
import { withStore } from "../with-store.ts";

export const linkList = defineCommand({
  words: ["link", "list"],
  summary: "lists the platform accounts that are linked to keys, newest first, never their tokens",
  flags: {
    account: optional("ID", "only those of this account's keys"),
    key: optional("KEY_ID", "only those of this key"),
  },
  run: async ({ flags }, parts) => {
    const nowMs = parts.clock.wallMs();
    const links = await withStore(parts, async (store) => {
      if (flags.account !== undefined) knownAccount(flags.account, await store.accounts.find(flags.account));
      if (flags.key !== undefined && !(await store.keys.find(flags.key)))
        throw new CommandFailed(`There is no key ${flags.key}.`);
      return store.links.list({
        ...(flags.account === undefined ? {} : { accountId: flags.account }),
        ...(flags.key === undefined ? {} : { keyId: flags.key }),
      });
    });
    const rows = links.map((link) => [
      link.id,
      link.accountId,
      link.keyId,
      userOf(link),
      linkReport(link, nowMs).status,
      link.scopes.join(" "),
    ]);
    return {
      lines: table(
        ["LINK", "ACCOUNT", "KEY", "USER", "STATE", "SCOPES"],
        rows,
        "There are no linked accounts.",
      ),
      json: { links: links.map((link) => linkJson(link, nowMs)) },
      exitCode: 0,
    };
  },
});

export const linkRevoke = defineCommand({
  words: ["link", "revoke"],
  operand: "LINK_ID",
  summary: "ends a link for ever, here at once and at the platform where it offers that",
  flags: {},
  run: async ({ operand }, parts) => {
    // Without a configuration that can be read the link ends here all the same; only the platform is not told.
    const offer = await parts.loadOffer().then(
      (loaded) => loaded.offer,
      () => ({ operations: new Map() }),
    );
    const ended = await withStore(parts, async (store) =>
      endLink(operand, {
        book: store.links,
        vault: createVault({ rowKey: (await parts.secrets()).rowKey, randomBytes: parts.randomBytes }),
        client: parts.platformClient,
        offer: () => offer,
        clock: parts.clock,
        log: createLog({
          level: "warn",
          nowMs: parts.clock.wallMs,
          write: (line) => parts.printError(line.trim()),
        }),
      }),
    );
    if (!ended) throw new CommandFailed(`There is no live link ${operand}.`);
    return revokedAnswer(ended);
  },
});

const platformSays: Readonly<Record<EndedLink["platform"], string>> = {
  revoked: "told, and its tokens have ended there",
  not_offered: "offers no way to be told; its tokens are forgotten here",
  not_reached:
    "could not be told; its tokens are forgotten here, and the person can remove the application there",
};

const revokedAnswer = ({ link, revokedAtMs, platform }: EndedLink): Answer => ({
  lines: fieldLines({
    link: link.id,
    key: link.keyId,
    user: userOf(link),
    state: "revoked",
    platform: platformSays[platform],
  }),
  json: { ...linkJson({ ...link, revokedAtMs }, revokedAtMs), platform },
  exitCode: 0,
});

/** A name from outside, on somebody's terminal. */
const userOf = ({ user }: Link): string =>
  user ? `@${user.username.replaceAll(/\p{Cc}/gu, " ")} (${user.id})` : "unknown";

const linkJson = (link: Link, nowMs: number) => ({
  ...linkReport(link, nowMs),
  account_id: link.accountId,
  upstream: link.upstream,
  revoked_at: isoTimeOrNull(link.revokedAtMs),
});
