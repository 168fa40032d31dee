// Pages of the stand-in platform under our own address: what passes between browser and sandbox, and what does not.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { rawRequest, sendUntilClosed } from "../bad-inputs/raw-request.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface Heard {
  readonly method: string;
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const heard: Heard[] = [];
const sandbox = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { pathname, search } = new URL(request.url);
    const headers = Object.fromEntries(request.headers);
    heard.push({ method: request.method, target: pathname + search, headers, body: await request.text() });
    const answer = new Headers({
      location: "http://gateway.test/sandbox/x/next?a=1",
      "content-security-policy": "default-src 'none'",
      server: "nobody's business",
    });
    answer.append("set-cookie", "one=1; Path=/sandbox/x; HttpOnly");
    answer.append("set-cookie", "two=2; Path=/sandbox/x");
    return new Response("", { status: 303, headers: answer });
  },
});
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await openTestGateway({ parts: { sandboxUrl: sandbox.url.origin } });
});
afterAll(async () => {
  await gateway.close();
  await sandbox.stop(true);
});

const visit = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(gateway.url + path, { redirect: "manual", ...init });

test("query, form, cookies, status, redirect and policy pass; a caller's key does not", async () => {
  const account = await gateway.openAccount();
  const response = await visit("/sandbox/x/interaction/abc-1?q=a%20b&q=2", {
    method: "POST",
    headers: {
      cookie: "one=1; two=2",
      authorization: `Bearer ${account.key}`,
      "x-api-key": account.key,
      "x-public-base": "https://attacker.test",
      "x-forwarded-host": "attacker.test",
      "content-type": "application/x-www-form-urlencoded",
    },
    body: "decision=allow",
  });
  expect(response.status).toBe(303);
  expect(response.headers.get("location")).toBe("http://gateway.test/sandbox/x/next?a=1");
  expect(response.headers.getSetCookie()).toEqual([
    "one=1; Path=/sandbox/x; HttpOnly",
    "two=2; Path=/sandbox/x",
  ]);
  expect(response.headers.get("content-security-policy")).toBe("default-src 'none'");
  expect(response.headers.has("server")).toBe(false);
  const { method, target, headers, body } = heard.at(-1) ?? { headers: {} };
  expect([method, target, body]).toEqual([
    "POST",
    "/public/x/interaction/abc-1?q=a%20b&q=2",
    "decision=allow",
  ]);
  expect(headers).toMatchObject({ cookie: "one=1; two=2", "x-public-base": `${gateway.url}/sandbox` });
  expect(JSON.stringify(headers)).not.toContain(account.key);
  expect(JSON.stringify(headers)).not.toContain("attacker");
});

test("a form that is too long, a way out of the folder and another method do not reach the sandbox", async () => {
  const before = heard.length;
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const long = { method: "POST", headers: form, body: "a".repeat(64 * 1024 + 1) };
  expect((await visit("/sandbox/x/interaction/a", long)).status).toBe(413);
  for (const path of ["/sandbox/x/..%2f_control/book", "/sandbox/x//a", "/sandbox/x/a%00", "/sandbox/x/"]) {
    expect((await visit(path)).status).toBe(404);
  }
  expect((await visit("/sandbox/x/a", { method: "DELETE" })).status).toBe(404);
  expect((await visit("/sandbox/reseller-cache/a", { method: "POST" })).status).toBe(404);
  expect(heard).toHaveLength(before);
});

test("a form that does not arrive is given up, and the sandbox hears nothing of it", async () => {
  const impatient = await openTestGateway({ parts: { sandboxUrl: sandbox.url.origin, bodyTimeoutMs: 300 } });
  try {
    const before = heard.length;
    for (const [line, body] of [
      ["Content-Length: 100", "a"],
      ["Transfer-Encoding: chunked", "1\r\na\r\n"],
    ] as const) {
      const request = rawRequest({
        line: "POST /sandbox/x/interaction/a HTTP/1.1",
        lines: ["Content-Type: application/x-www-form-urlencoded", line],
        body,
      });
      expect(await sendUntilClosed(impatient.port, request, 5_000)).toMatchObject({
        status: 408,
        closed: true,
      });
    }
    expect(heard).toHaveLength(before);
  } finally {
    await impatient.close();
  }
});

test("with the sandbox off there is no such page", async () => {
  const real = await openTestGateway({ config: "sandbox: off" });
  expect((await fetch(`${real.url}/sandbox/x/oauth2/authorize`)).status).toBe(404);
  await real.close();
});
