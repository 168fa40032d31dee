import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { snapshotPath, tagPath } from "../support/purchases.ts";

import { openTestGateway } from "../support/test-gateway.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { openBadInputGateway } from "./bad-input-gateway.ts";
import { flat, nested, read } from "./error-shapes.ts";
import { expectNothingHappened } from "./nothing-happened.ts";
import { rawRequest } from "./raw-request.ts";

const { gateway, account, expectClosedWith, expectEach, close } = await openBadInputGateway();
afterAll(close);

describe("what a key can look like", () => {
  test("only a well-formed bearer is looked up; the scheme's case and blanks do not matter", async () => {
    const lookUps = spyOn(gateway.store.keys, "findCredential");
    const balance = (authorization: string) =>
      fetch(`${gateway.url}/v1/credits/balance`, { headers: { authorization } });
    try {
      for (const scheme of ["bearer", "BEARER", "Bearer ", "bearer  "]) {
        expect((await balance(`${scheme} ${account.key}`)).status).toBe(200);
      }
      lookUps.mockClear();

      const wrongChecksum = account.key.slice(0, -1) + (account.key.endsWith("0") ? "1" : "0");
      const refused: Record<string, string> = {
        "Basic eDp5": "invalid_api_key",
        Bearer: "invalid_api_key",
        [account.key]: "invalid_api_key",
        [`Bearer ${account.key} x`]: "invalid_api_key",
        [`Bearer ${wrongChecksum}`]: "invalid_api_key",
        [`Bearer ${account.key.slice(1)}`]: "invalid_api_key",
        "": "missing_api_key",
      };
      for (const [authorization, code] of Object.entries(refused)) {
        flat(401, code)(await read(balance(authorization)));
      }
      expect(lookUps).toHaveBeenCalledTimes(0);
    } finally {
      lookUps.mockRestore();
    }
    await expectClosedWith([431], {
      "1 MB token": rawRequest({ lines: [`Authorization: Bearer ${"a".repeat(1_000_000)}`] }),
    });
  });

  test("a key in the query string opens nothing and is not logged", async () => {
    const names = ["api_key", "key", "access_token", "authorization"];
    const before = gateway.logged.length;
    await expectEach(
      names.map((name) => [
        () => fetch(`${gateway.url}${snapshotPath}&${name}=${account.key}`),
        flat(401, "missing_api_key"),
      ]),
    );
    expect(gateway.logged.slice(before)).toHaveLength(names.length);
    expect(gateway.logged.join("")).not.toContain(account.key.slice(4));
  });

  test("a revoked key and a suspended account stop within 5 s, and nothing is spent", async () => {
    const clock = createVirtualClock();
    const other = await openTestGateway({ clock });
    try {
      const revoked = await other.openAccount();
      const suspended = await other.openAccount();
      expect((await other.call(revoked, snapshotPath)).status).toBe(200);
      expect((await other.call(suspended, snapshotPath)).status).toBe(200);
      await other.store.keys.revoke(revoked.keyId, clock.wallMs());
      await other.store.accounts.update(suspended.accountId, { suspended: true });
      clock.advance(5_000);

      await expectNothingHappened(other, async () => {
        flat(401, "invalid_api_key")(await read(other.call(revoked, snapshotPath)));
        nested(403, "account_suspended")(await read(other.call(suspended, snapshotPath)));
      });
    } finally {
      await other.close();
    }
  });

  test("without a credential every path under the API answers 401", async () => {
    const paths = [snapshotPath, tagPath, "/v1/usage", "/v1/requests/x", "/v1/nothing", "/apis/v1/nothing"];
    await expectEach(paths.map((path) => [() => fetch(gateway.url + path), flat(401, "missing_api_key")]));
  });

  test("the web-traffic route without a credential is 404", async () => {
    const path = "/apis/v1/traffic_analytics/website/traffic-engagement";
    const ask = (headers: Record<string, string>) => () => fetch(gateway.url + path, { headers });
    await expectEach([
      [ask({}), flat(404, "unknown_endpoint")],
      [ask({ "X-Tollgate-Cost-Mode": "quote" }), flat(404, "unknown_endpoint")],
      [ask({ authorization: "Bearer tgk_nobody" }), flat(401, "invalid_api_key")],
    ]);
  });
});
