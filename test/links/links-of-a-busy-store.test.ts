// Links while their store takes nothing: nobody is sent to link again for that, and no token is lost.

import { describe, expect, test } from "bun:test";
import { codeOf, json } from "../support/answers.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { takeWriteLock } from "../support/write-lock.ts";
import { did, hourMs, inDatabase, lastingScopes, linksPath, useLinking } from "./linking.ts";

const { linking, linked } = await useLinking();

describe("while another process holds the write lock", () => {
  test("a call without a link is told that the books are busy, not that something broke", async () => {
    const account = await linking.gateway.openAccount();
    const unlock = takeWriteLock(linking.gateway.databasePath);
    const refused = await linking.follow(account);
    unlock();
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await codeOf(refused)).toBe("billing_dependency_timeout");
    expect((await linking.follow(account)).status).toBe(403);
  });

  test("a renewal that cannot be written sends nobody to link again", async () => {
    const account = await linked(lastingScopes);
    linking.clock.advance(3 * hourMs);
    // Long enough for the claim of the renewal to give up; the books are free again when they are asked.
    setTimeout(takeWriteLock(linking.gateway.databasePath), 3_000);
    const refused = await linking.follow(account);
    expect(refused.status).toBe(503);
    expect(await codeOf(refused)).toBe("provider_unavailable");
    expect((await linking.follow(account)).status).toBe(200);
    expect(await linking.gateway.audit()).toEqual([]);
  });

  test("tokens that could not be stored are stored with the next call, for the platform gives them once", async () => {
    const account = await linked(lastingScopes);
    const refreshes = did(linking.platform, "refresh_token");
    await renewInVain(account);
    expect((await linking.follow(account)).status).toBe(200);
    expect(did(linking.platform, "refresh_token") - refreshes).toBe(1);
    linking.clock.advance(3 * hourMs);
    expect((await linking.follow(account)).status).toBe(200);
  });

  test("tokens that were never stored end with their link at the platform, too", async () => {
    const account = await linked(lastingScopes);
    const revokes = did(linking.platform, "revoke");
    await renewInVain(account);
    const { data } = await json<{ data: { link_id: string }[] }>(linking.gateway.call(account, linksPath));
    for (const { link_id: id } of data) await linking.gateway.post(account, `${linksPath}/${id}/revoke`, {});
    expect(did(linking.platform, "revoke") - revokes).toBe(4);
  });
});

/** A call for which the platform gives new tokens that the store does not take. */
async function renewInVain(account: TestAccount): Promise<void> {
  linking.clock.advance(3 * hourMs);
  inDatabase(linking.gateway, (db) =>
    db.run(`CREATE TRIGGER no_tokens BEFORE UPDATE OF access_token ON link
             BEGIN SELECT RAISE(ABORT, 'the tokens are not taken'); END`),
  );
  expect((await linking.follow(account)).status).not.toBe(200);
  inDatabase(linking.gateway, (db) => db.run("DROP TRIGGER no_tokens"));
}
