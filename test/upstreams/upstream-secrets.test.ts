// What the operator adds to the requests of one upstream may be secret: it goes there and nowhere else, and nobody repeats it.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import type { Log } from "../../gateway/src/platform/log.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { last, openAttackerListener } from "../doubles/vendor-double.ts";
import { chat } from "../support/purchases.ts";
import { gateToken, key, ownHeaders, post, price, useOwnRequests } from "./own-requests.ts";

const { keep, open } = useOwnRequests();

describe("secrets in headers", () => {
  const attacker = openAttackerListener();
  afterEach(async () => {
    expect([(await attacker).connections(), (await attacker).bytes()]).toEqual([0, 0]);
  });
  afterAll(async () => (await attacker).close());

  /** A vendor that says whatever it was told, then one that is asked when the first fails. */
  const openPair = async () => {
    const first = await keep(openOpenAiDouble({ key }));
    const second = await keep(openOpenAiDouble({ key: "the-key-of-the-second" }));
    const gateway = await open(`
upstreams:
  first:
    protocol: openai
    url: "${first.url}"
    key: ${key}
    headers: { Cf-Aig-Authorization: "Bearer ${gateToken}", X-Title: "A plain title" }
    query: { tenant-token: ${gateToken}-of-the-query }
  second: { protocol: openai, url: "${second.url}", key: the-key-of-the-second }
models: { gpt-x: { via: [first, second], ${price} } }
`);
    return { first, second, gateway, account: await gateway.openAccount() };
  };

  test("go to no other upstream, and nowhere that a redirect leads", async () => {
    const { first, second, gateway, account } = await openPair();
    first.answerNext({ status: 500, body: "{}" });
    expect((await post(gateway, account, chat))[0]).toBe(200);
    expect(ownHeaders(last(second))).toEqual({ authorization: "Bearer the-key-of-the-second" });
    expect(last(second).target).toBe("/v1/chat/completions");
    expect(Buffer.from(last(second).raw).includes(gateToken)).toBe(false);

    for (const status of [301, 307, 308]) {
      first.answerNext({ status, headers: { location: `${(await attacker).url}/v1/chat/completions` } });
      const [answered, text] = await post(gateway, account, chat);
      expect([answered, text.includes(gateToken)]).toEqual([502, false]);
    }
    expect(first.requests).toHaveLength(4);
  });

  test("do not come back to a caller from a vendor that repeats them, and stand in no receipt, metric or log", async () => {
    const { first, second, gateway, account } = await openPair();
    const headers = { "content-type": "application/json" };
    for (const [status, repeated, ours] of [
      [200, gateToken, 502],
      [200, key, 502],
      [400, gateToken, 503],
      [400, `?tenant-token=${gateToken}-of-the-query`, 503],
    ] as const) {
      // What was refused may be tried elsewhere, where it is refused as well; what may be done and paid for may not.
      if (status === 400) second.answerNext({ status: 401, headers, body: "{}" });
      first.answerNext({ status, headers, body: JSON.stringify({ error: { message: repeated } }) });
      const response = await gateway.post(account, "/v1/chat/completions", chat);
      const receipt = await gateway.call(account, `/v1/requests/${response.headers.get("x-request-id")}`);
      const told = `${await response.text()}${await receipt.text()}${JSON.stringify([...response.headers])}`;
      expect([repeated, response.status, told.includes(gateToken), told.includes(key)]).toEqual([
        repeated,
        ours,
        false,
        false,
      ]);
    }
    expect(second.requests).toHaveLength(2);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    const contract = await (await fetch(`${gateway.url}/openapi/account.json`)).text();
    for (const said of [metrics, contract]) expect(said).not.toContain(gateToken);
  });

  test("nor does a password in the address, alone or in the word in which it is sent", async () => {
    const password = "p@ssword-of-the-address";
    const basic = btoa(`ada:${password}`);
    const vendor = await keep(openOpenAiDouble({ key }));
    const address = new URL(vendor.url);
    Object.assign(address, { username: "ada", password: encodeURIComponent(password) });
    let log: Log | undefined;
    const gateway = await open(
      `
upstreams: { router: { protocol: openai, url: "${address.href}", key: ${key}, key_header: api-key } }
models: { gpt-x: { via: [router], ${price} } }
`,
      {
        wrap: (parts) => {
          log = parts.log;
          return parts;
        },
      },
    );
    const account = await gateway.openAccount();
    const headers = { "content-type": "application/json" };
    for (const repeated of [password, `Basic ${basic}`, address.href]) {
      vendor.answerNext({ status: 400, headers, body: JSON.stringify({ error: { message: repeated } }) });
      const [status, text] = await post(gateway, account, chat);
      expect([status, text.includes(repeated)]).toEqual([503, false]);
      log?.warn("somebody writes it down", { repeated });
    }
    expect(ownHeaders(last(vendor))).toEqual({ authorization: `Basic ${basic}`, "api-key": key });
    const logged = gateway.logged.join("");
    expect(logged).toContain("somebody writes it down");
    for (const secret of [password, encodeURIComponent(password), basic])
      expect(logged).not.toContain(secret);
  });

  test("do not come back in the middle of a stream", async () => {
    const { first, gateway, account } = await openPair();
    const chunk = (content: string): string =>
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] })}\n\n`;
    const body = `${chunk("Hello")}${chunk(`told ${gateToken}`)}${chunk("bye")}data: [DONE]\n\n`;
    first.answerNext({ status: 200, headers: { "content-type": "text/event-stream" }, body });
    const [status, text] = await post(gateway, account, { ...chat, stream: true });
    expect(status).toBe(200);
    expect(text).toContain("Hello");
    for (const withheld of [gateToken, "bye", "[DONE]"]) expect(text).not.toContain(withheld);
  });

  test("are told from what may stand in any answer, which passes", async () => {
    const { first, gateway, account } = await openPair();
    const headers = { "content-type": "application/json" };
    first.answerNext({ status: 400, headers, body: '{"error":{"message":"A plain title is no title"}}' });
    expect(await post(gateway, account, chat)).toEqual([
      400,
      '{"error":{"message":"A plain title is no title"}}',
    ]);
  });

  test("are hidden in the log whoever writes them there, in whole and in any part", async () => {
    const quoted = 'say "friend" and enter';
    const clientSecret = "a-secret-of-the-platform-0123";
    const gateway = await open(
      `
upstreams:
  router:
    protocol: openai
    url: "http://127.0.0.1:9"
    key: acme-gate-0123456789abcdef
    headers: { X-Gate: acme-gate, X-Word: ${JSON.stringify(quoted)}, X-Auth: "Token ${gateToken}" }
  platform:
    protocol: x
    url: "http://127.0.0.1:9"
    authorize_url: "https://platform.example/authorize"
    token_url: "https://platform.example/token"
    client_id: app-1
    client_secret: ${clientSecret}
`,
      {
        wrap: (parts) => ({
          ...parts,
          forwarder: {
            prepare: () => {
              const written = `acme-gate-0123456789abcdef, ${quoted}, ${gateToken}, Token ${gateToken}`;
              throw new Error(`${written}, ${clientSecret}`);
            },
          },
        }),
      },
    );
    const account = await gateway.openAccount();
    expect((await post(gateway, account, { ...chat, model: "gpt-4o" }))[0]).toBe(500);
    const lines = gateway.logged.filter((line) => line.includes("Error: "));
    expect(lines).not.toEqual([]);
    for (const line of lines) {
      expect(line).toContain("Error: [secret], [secret], [secret], [secret], [secret]");
      for (const secret of ["0123456789abcdef", "friend", gateToken, clientSecret])
        expect(line).not.toContain(secret);
    }
  });
});
