// The hardened way to link: our own page first, which says who asks, and only its browser may finish.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { TestAccount } from "../support/test-gateway.ts";
import { callbackPath, did, liveLinks, openLinking, writeScopes, type Linking } from "./linking.ts";
import { createVisitor, startLink, type Seen, type Visitor } from "../support/visitor.ts";

let linking: Linking;
let account: TestAccount;

beforeAll(async () => {
  linking = await openLinking("links: { confirm: true }");
  account = await linking.gateway.openAccount();
  await linking.gateway.store.keys.update(account.keyId, { name: "Alice's <key>" });
});

afterAll(() => linking.close());

const start = () => startLink(linking.gateway, account, writeScopes);

/** Where the page that follows the confirmation leads to. */
const onward = (page: Seen): string => {
  const target = /^0; url=(.+)$/.exec(page.headers.get("refresh") ?? "")?.[1] ?? "";
  expect(page.text).toContain(`href="${Bun.escapeHTML(target)}"`);
  return target;
};

const confirm = async (visitor: Visitor, authUrl: string): Promise<string> =>
  onward(await visitor.submit(await visitor.open(authUrl)));

test("the page names who asks and for what, and sets a cookie that scripts and other sites do not get", async () => {
  const { auth_url: authUrl, state } = await start();
  expect(authUrl).toBe(`${linking.gateway.url}/apis/v1/social_a/link_confirm?state=${state}`);
  const page = await createVisitor().open(authUrl);
  expect(page.status).toBe(200);
  expect(page.text).toContain("Alice&#x27;s &lt;key&gt;");
  expect(page.text).toMatch(/itself and through\s+clients that its owner lets in/);
  for (const scope of writeScopes) expect(page.text).toContain(`<li><code>${scope}</code></li>`);
  expect(page.headers.get("set-cookie")).toMatch(
    /^tollgate-link-[0-9a-f]{16}=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
  );
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
});

test("whoever confirms here and agrees there is linked", async () => {
  const visitor = createVisitor();
  const platformUrl = await confirm(visitor, (await start()).auth_url);
  expect(platformUrl).toStartWith(linking.platform.authorizeUrl);
  const linked = await visitor.open(linking.platform.agree(platformUrl));
  expect(linked.text).toContain("@ada_l");
  expect(linked.text).toContain("clients that were let in with this key and may spend");
  expect((await linking.follow(account)).status).toBe(200);
});

describe("whoever opens the page again in the same browser is linked all the same", () => {
  test("from the tab that it was opened in first", async () => {
    const visitor = createVisitor();
    const { auth_url: authUrl } = await start();
    const first = await visitor.open(authUrl);
    await visitor.open(authUrl);
    const back = linking.platform.agree(onward(await visitor.submit(first)));
    expect((await visitor.open(back)).text).toContain("@ada_l");
  });

  test("and while another tab is at the platform", async () => {
    const visitor = createVisitor();
    const { auth_url: authUrl } = await start();
    const platformUrl = await confirm(visitor, authUrl);
    await visitor.open(authUrl);
    expect((await visitor.open(linking.platform.agree(platformUrl))).text).toContain("@ada_l");
  });

  test("but a cookie that is none of ours is not taken for one", async () => {
    const visitor = createVisitor();
    const { auth_url: authUrl } = await start();
    await visitor.open(authUrl);
    const [cookie = ""] = visitor.cookies.keys();
    for (const value of ["", "a", "a".repeat(44), `${"a".repeat(42)}"`]) {
      visitor.cookies.set(cookie, value);
      const page = await visitor.open(authUrl);
      expect(visitor.cookies.get(cookie)).toMatch(/^[\w-]{43}$/);
      expect(onward(await visitor.submit(page))).toStartWith(linking.platform.authorizeUrl);
    }
  });
});

describe("phishing fails", () => {
  const expectNotLinked = async (act: () => Promise<Seen>): Promise<void> => {
    const [before, exchanged] = [
      await liveLinks(linking.gateway),
      did(linking.platform, "authorization_code"),
    ];
    expect((await act()).status).toBe(400);
    expect(await liveLinks(linking.gateway)).toBe(before);
    expect(did(linking.platform, "authorization_code")).toBe(exchanged);
  };

  test("when the attacker confirms and the victim is sent to the platform's page", async () => {
    const [attacker, victim] = [createVisitor(), createVisitor()];
    const platformUrl = await confirm(attacker, (await start()).auth_url);
    const back = linking.platform.agree(platformUrl);
    await expectNotLinked(() => victim.open(back));
    // The state went with it: the attacker cannot finish what the victim began.
    await expectNotLinked(() => attacker.open(back));
  });

  test("when the victim only opened our page, or has the cookie of another attempt", async () => {
    const [attacker, victim] = [createVisitor(), createVisitor()];
    const [one, two] = [await start(), await start()];
    await victim.open(one.auth_url);
    await confirm(victim, two.auth_url);
    const platformUrl = await confirm(attacker, one.auth_url);
    await expectNotLinked(() => victim.open(linking.platform.agree(platformUrl)));
  });

  test("when another site sends the form for the victim, which cannot read what stands on our page", async () => {
    const victim = createVisitor();
    const { auth_url: authUrl, state } = await start();
    const page = await victim.open(authUrl);
    const target = `${linking.gateway.url}/apis/v1/social_a/link_confirm`;
    for (const token of ["", "a".repeat(43)]) {
      await expectNotLinked(() => victim.open(target, { form: { state, token } }));
    }
    // With the token of the page, but in a browser without its cookie.
    await expectNotLinked(() => createVisitor().submit(page));
    // None of it counts as the victim's confirmation.
    await expectNotLinked(() => victim.open(`${linking.gateway.url}${callbackPath}?code=a&state=${state}`));
  });

  test("without any confirmation, by a callback made up from the state", async () => {
    const { state } = await start();
    await expectNotLinked(() =>
      createVisitor().open(`${linking.gateway.url}${callbackPath}?code=a&state=${state}`),
    );
  });
});

test("a confirmation page that is over, used or unknown says so", async () => {
  const said = ({ status, text }: Seen): unknown[] => [status, /<h1>([^<]*)<\/h1>/.exec(text)?.[1]];
  const [unknown, expired, usedAlready] = [
    [400, "This link is not known"],
    [400, "This link has expired"],
    [400, "This link was used already"],
  ];
  const { auth_url: authUrl } = await start();
  const visitor = createVisitor();
  const page = await visitor.open(authUrl);
  linking.clock.advance(600_000);
  expect(said(await createVisitor().open(authUrl))).toEqual(expired);
  expect(said(await visitor.submit(page))).toEqual(expired);
  expect(said(await visitor.open(authUrl.replace(/state=.*/, "state=unknown")))).toEqual(unknown);
  expect(said(await visitor.open(authUrl.replace(/\?.*/, "")))).toEqual(unknown);

  const { auth_url: usedUrl } = await start();
  const used = await visitor.open(usedUrl);
  const linked = await visitor.open(linking.platform.agree(onward(await visitor.submit(used))));
  expect(linked.text).toContain("@ada_l");
  expect(said(await visitor.open(usedUrl))).toEqual(usedAlready);
  expect(said(await visitor.submit(used))).toEqual(usedAlready);
  expect(said(await visitor.open(linked.url))).toEqual(usedAlready);
});

test("whoever was linked and comes again is not told that nothing was linked", async () => {
  const visitor = createVisitor();
  const { auth_url: authUrl } = await start();
  const linked = await visitor.open(linking.platform.agree(await confirm(visitor, authUrl)));
  expect(linked.text).toContain("@ada_l");
  for (const url of [linked.url, authUrl]) {
    const { text } = await visitor.open(url);
    expect(text).toContain("If you were told that the account is linked, it is");
    expect(text).not.toContain("othing was linked");
  }
});

test("a confirmation page says that its key has ended", async () => {
  const gone = await linking.gateway.openAccount();
  const { auth_url: authUrl } = await startLink(linking.gateway, gone, writeScopes);
  await linking.gateway.store.keys.revoke(gone.keyId, linking.clock.wallMs());
  expect((await createVisitor().open(authUrl)).text).toContain("The key has ended");
});
