// What no honest client sends: on real sockets, byte by byte.

import { afterAll, describe, expect, test } from "bun:test";

import { openAttackerListener } from "../doubles/vendor-double.ts";
import { snapshotPath } from "../support/purchases.ts";
import { contentLength, goodRerank, openBadInputGateway } from "./bad-input-gateway.ts";
import { flat, read } from "./error-shapes.ts";
import { expectNothingHappened } from "./nothing-happened.ts";
import { rawRequest, sendForOne, sendUntilClosed } from "./raw-request.ts";

const { gateway, account, rerankBytes, expectClosedWith, close } = await openBadInputGateway();
afterAll(close);
const attacker = await openAttackerListener();
afterAll(() => attacker.close());

const chunked = (size = goodRerank.length.toString(16)) => `${size}\r\n${goodRerank}\r\n0\r\n\r\n`;

describe("what the wire can do", () => {
  test("a request with both Content-Length and Transfer-Encoding smuggles nothing in", async () => {
    const smuggled = rawRequest({ line: `GET ${snapshotPath} HTTP/1.1`, key: account });
    await expectClosedWith([400], {
      both: rerankBytes(["Content-Length: 4", "Transfer-Encoding: chunked"], {
        body: `0\r\n\r\n${smuggled}`,
      }),
      "the other way round": rerankBytes(["Transfer-Encoding: chunked", "Content-Length: 4"], {
        body: `0\r\n\r\n${smuggled}`,
      }),
    });
  });

  test("two Content-Lengths are refused, different or equal", async () => {
    await expectClosedWith([400], {
      different: rerankBytes([contentLength, `Content-Length: ${goodRerank.length + 1}`], {
        body: `${goodRerank} `,
      }),
      equal: rerankBytes([contentLength, contentLength]),
      "in one line": rerankBytes([`${contentLength}, ${goodRerank.length}`]),
    });
  });

  test("a Content-Length that is not a plain number is refused", async () => {
    const values = [`+${goodRerank.length}`, "-1", "99999999999999999999", "0x10", ""];
    await expectClosedWith(
      [400],
      Object.fromEntries(values.map((value) => [value, rerankBytes([`Content-Length: ${value}`])])),
    );
  });

  test("a Transfer-Encoding or a chunk that two readers could read differently is refused", async () => {
    const coded = (value: string) => rerankBytes([`Transfer-Encoding: ${value}`], { body: chunked() });
    const sized = (size: string) => rerankBytes(["Transfer-Encoding: chunked"], { body: chunked(size) });
    const size = goodRerank.length.toString(16);
    await expectClosedWith([400], {
      xchunked: coded("xchunked"),
      "chunked, identity": coded("chunked, identity"),
      "chunked twice": coded("chunked, chunked"),
      "two headers": rerankBytes(["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], {
        body: chunked(),
      }),
      "0x size": sized(`0x${size}`),
      "LF in an extension": sized(`${size};a\nb`),
    });
  });

  test("such a chunk is refused also where nobody would read it, with a call that costs money", async () => {
    const bought = (body: string): string =>
      rawRequest({
        line: `GET ${snapshotPath} HTTP/1.1`,
        key: account,
        lines: ["Transfer-Encoding: chunked"],
        body,
      });
    await expectClosedWith([400], {
      "0x size": bought("0x3\r\nabc\r\n0\r\n\r\n"),
      "LF in an extension": bought("3;a\nb\r\nabc\r\n0\r\n\r\n"),
      "behind a good one": bought("3\r\nabc\r\nno\r\n"),
    });
  });

  test("HTTP/1.0 with chunks is refused", async () => {
    await expectClosedWith([400], {
      chunked: rerankBytes(["Transfer-Encoding: chunked"], {
        line: "POST /v1/rerank HTTP/1.0",
        body: chunked(),
      }),
    });
  });

  test("malformed header lines are refused", async () => {
    const lines = {
      "space before the colon": "X-Odd : 1",
      folded: "X-Odd: 1\r\n folded",
      "bare LF": "X-Odd: 1\nX-More: 2",
      "bare CR": "X-Odd: 1\rX-More: 2",
      NUL: "X-Odd: 1\x002",
    };
    const withLine = (line: string) =>
      rawRequest({ line: `GET ${snapshotPath} HTTP/1.1`, key: account, lines: [line] });
    await expectClosedWith(
      [400],
      Object.fromEntries(Object.entries(lines).map(([name, line]) => [name, withLine(line)])),
    );
    const onlyLf = rawRequest({ line: `GET ${snapshotPath} HTTP/1.1`, key: account }).replaceAll(
      "\r\n",
      "\n",
    );
    await expectClosedWith([400, 505], { "bare LF everywhere": onlyLf });
  });

  test("a request without a Host, with two, or with one that is no address is refused", async () => {
    const line = `GET ${snapshotPath} HTTP/1.1`;
    await expectClosedWith([400], {
      none: rawRequest({ line, key: account, host: undefined }),
      two: rawRequest({ line, key: account, lines: ["Host: other.test"] }),
      "the same twice": rawRequest({ line, key: account, lines: ["Host: gateway.test"] }),
      "a path": rawRequest({ line, key: account, host: "x/readyz?" }),
      empty: rawRequest({ line, key: account, host: "" }),
    });
  });

  test("an absolute target is our own path and needs a key; no other host is reached", async () => {
    const target = `${attacker.url}/v1/credits/balance`;
    await expectNothingHappened(gateway, async () => {
      const stranger = await sendForOne(gateway.port, rawRequest({ line: `GET ${target} HTTP/1.1` }));
      expect(stranger.status).toBe(401);
      const known = await sendForOne(
        gateway.port,
        rawRequest({ line: `GET ${target} HTTP/1.1`, key: account }),
      );
      expect(known.status).toBe(200);
      expect(JSON.parse(known.body)).toHaveProperty("balance_micros_usd");
      const unknown = await sendForOne(gateway.port, rawRequest({ line: `GET ${attacker.url}/a HTTP/1.1` }));
      expect(unknown.status).toBe(404);
    });
    expect(attacker.connections()).toBe(0);
  });

  test("CONNECT opens no tunnel", async () => {
    const peer = `127.0.0.1:${attacker.port}`;
    await expectClosedWith([405], {
      "without a key": rawRequest({ line: `CONNECT ${peer} HTTP/1.1`, host: peer, body: "hello" }),
      "with a key": rawRequest({ line: `CONNECT ${peer} HTTP/1.1`, host: peer, key: account, body: "hello" }),
    });
    expect(attacker.connections()).toBe(0);
  });

  test("an upgrade to h2c is ignored", async () => {
    const upgrade = [
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAAP__",
    ];
    const answer = await sendForOne(gateway.port, rawRequest({ key: account, lines: upgrade }));
    expect(answer.status).toBe(200);
    expect(answer.headers).not.toHaveProperty("upgrade");
    await expectClosedWith([400], { "HTTP/2 without asking": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" });
  });

  test("a WebSocket is refused where a POST is served, in the status by which Codex knows to send one", async () => {
    const upgrade = [
      "Connection: Upgrade",
      "Upgrade: WebSocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    const ask = (path: string, key?: typeof account, lines = upgrade) =>
      sendForOne(gateway.port, rawRequest({ line: `GET ${path} HTTP/1.1`, key, lines }));
    const refused = await ask("/v1/responses", account);
    expect([refused.status, refused.headers["x-should-retry"]]).toEqual([426, "false"]);
    expect(JSON.parse(refused.body)).toMatchObject({ error: { code: "websocket_unsupported", param: null } });
    // Behind nginx, what is about its own connection does not come.
    expect((await ask("/v1/responses", account, upgrade.slice(2))).status).toBe(426);
    expect((await ask("/v1/responses")).status).toBe(401);
    // Where nothing else is served either, and where a GET is, it is a request as any other.
    expect((await ask("/v1/realtime", account)).status).toBe(404);
    expect((await ask("/v1/credits/balance", account)).status).toBe(200);
    // Without one, what is only posted is not there, as ever.
    expect((await ask("/v1/responses", account, [])).status).toBe(404);
  });

  test("heads that are too large are refused", async () => {
    const line = `GET ${snapshotPath} HTTP/1.1`;
    await expectClosedWith([431], {
      "17 KiB header": rawRequest({ line, key: account, lines: [`X-Odd: ${"a".repeat(17 * 1024)}`] }),
      "3000 headers": rawRequest({ line, key: account, lines: Array<string>(3_000).fill("X-Odd: 1") }),
    });
    const numbered = (count: number) =>
      Array.from({ length: count }, (_, n): string[] => [`x-odd-${n}`, "1"]);
    const send = (count: number) => gateway.call(account, snapshotPath, { headers: numbered(count) });
    expect((await send(90)).status).toBe(200);
    await expectNothingHappened(gateway, async () => {
      for (const count of [100, 150]) flat(431, "headers_too_large")(await read(send(count)));
    });
    await expectClosedWith([414, 431], {
      "17 KiB target": rawRequest({
        line: `GET ${snapshotPath}&x=${"a".repeat(17 * 1024)} HTTP/1.1`,
        key: account,
      }),
    });
  });

  test("what is no request is refused in words, under a request id, and counted", async () => {
    const refused = {
      "GET / HTTP/1.1\r\n\r\n": 400,
      [`GET / HTTP/1.1\r\nX: ${"a".repeat(17_000)}\r\n\r\n`]: 431,
    };
    for (const [bytes, expected] of Object.entries(refused)) {
      const { status, headers, body } = await sendUntilClosed(gateway.port, bytes);
      expect([status, JSON.parse(body)]).toEqual([
        expected,
        {
          error: expect.any(String) as string,
          code: expected === 431 ? "headers_too_large" : "invalid_parameters",
          request_id: headers["x-request-id"],
        },
      ]);
    }
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/tollgate_refusals_total\{code="headers_too_large"\} \d+/);
  });

  test("two Authorization headers are refused, even equal ones", async () => {
    const line = `GET ${snapshotPath} HTTP/1.1`;
    await expectNothingHappened(gateway, async () => {
      for (const second of [
        `Authorization: Bearer ${account.key}`,
        "authorization: Basic eDp5",
        "Authorization:",
      ]) {
        const answer = await sendForOne(gateway.port, rawRequest({ line, key: account, lines: [second] }));
        flat(
          401,
          "invalid_api_key",
        )({
          status: answer.status ?? 0,
          body: JSON.parse(answer.body) as unknown,
          requestId: answer.headers["x-request-id"] ?? "",
        });
      }
    });
  });
});
