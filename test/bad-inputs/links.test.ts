import { afterAll, describe, expect, test } from "bun:test";

import { invalid, openBadInputGateway } from "./bad-input-gateway.ts";
import { nested, read } from "./error-shapes.ts";
import { expectNothingHappened, readBooks } from "./nothing-happened.ts";

const { gateway, account, close } = await openBadInputGateway();
afterAll(close);

describe("links", () => {
  const callback = "/apis/v1/social_a/oauth_callback";
  const start = "/apis/v1/social_a/auth_social_a";
  const begin = async () => (await (await gateway.post(account, start, {})).json()) as { state: string };
  const links = async () => (await readBooks(gateway.data)).rows["link"];

  test("an OAuth callback that was not asked for stores no session", async () => {
    const { state: used } = await begin();
    await fetch(`${gateway.url}${callback}?error=access_denied&state=${used}`);
    const queries: readonly string[] = [
      "",
      "code=a",
      "state=a",
      "code=a&state=",
      `code=a&state=${used}`,
      `code=a&state=${"A".repeat(43)}`,
      `code=a&code=b&state=${(await begin()).state}`,
      `code=a&state=${(await begin()).state}&iss=https%3A%2F%2Fattacker.test`,
      `code=a&state=${(await begin()).state}`,
      `error=access_denied&state=${(await begin()).state}`,
      `code=${"a".repeat(4_000)}&state=${"a".repeat(4_000)}`,
      "state=%00&code=%0d%0aSet-Cookie:%20a=b",
    ];
    const before = await links();
    for (const query of queries) {
      const page = await fetch(`${gateway.url}${callback}?${query}`);
      expect([query, page.status, page.headers.get("content-type")]).toEqual([
        query,
        400,
        "text/html; charset=utf-8",
      ]);
      const again = await fetch(`${gateway.url}${callback}?${query}`);
      expect(again.status).toBe(400);
    }
    expect(await links()).toBe(before);
  });

  test("scopes that are unknown, doubled or too many are 400", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const scopes of [
        ["*"],
        ["users.read", "users.read"],
        Array(1_000).fill("users.read"),
        [],
        [1],
        "a",
      ]) {
        invalid(await read(gateway.post(account, start, { scopes })));
      }
    });
  });

  test("a write without a link is 403, and nothing happened", async () => {
    await expectNothingHappened(gateway, async () =>
      nested(
        403,
        "link_required",
      )(await read(gateway.post(account, "/apis/v1/social_a/follow_social_a", { target_user_id: "1" }))),
    );
  });
});
