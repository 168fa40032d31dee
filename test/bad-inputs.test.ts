// The forty bad inputs of threats.md §5, row by row, on real sockets. Rows of features that do not exist
// yet stand as todo, so that they show themselves.

import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";

import {
  flat,
  gemini,
  nested,
  openai,
  read,
  someText,
  usage400,
  type Answered,
} from "./bad-inputs/error-shapes.ts";
import { expectNothingHappened, readBooks } from "./bad-inputs/nothing-happened.ts";
import { rawRequest, sendForOne, sendUntilClosed } from "./bad-inputs/raw-request.ts";
import { createVirtualClock } from "./bad-inputs/virtual-clock.ts";
import { openFinancialDatasetsDouble, type FinancialDatasetsBilled } from "./doubles/financialdatasets.ts";
import { gzipLayers, gzipZeros } from "./doubles/gzip-bomb.ts";
import { openJinaDouble, type JinaBilled } from "./doubles/jina.ts";
import { openOpenAiDouble, type OpenAiBilled } from "./doubles/openai.ts";
import { openTikHubDouble, type TikHubBilled } from "./doubles/tikhub.ts";
import { omitted, type BookkeepingDouble, type JsonValue } from "./doubles/vendor-checks.ts";
import { openAttackerListener, type AttackerListener, type VendorDouble } from "./doubles/vendor-double.ts";
import { modernHeaders, openOldClient, send, type Rpc } from "./agent-client.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";
import { asynchronous, create, createPath, createTask, stuck, taskPath, video } from "./tasks/task-caller.ts";

const snapshotPath = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";
const tagPath = "/apis/v1/reseller/social_c/web/fetch_tag_detail?tag_name=cats";
const snapshotMicros = 48_000;
const rerankBytesMax = 10 * 1024 * 1024;
const goodRerank = JSON.stringify({ query: "a", documents: ["b"] });
const chat = (further: object = {}) => ({
  model: "gpt-4o",
  messages: [{ role: "user", content: "hi" }],
  ...further,
});
const roomyTiers = "tiers: { enterprise: { rpm: 1000000, tpm: 1000000000, concurrency: 10000 } }";
const json = { "content-type": "application/json" };

const invalid = flat(400, "invalid_parameters");
const invalidChat = (param: string | null) =>
  openai(400, "invalid_parameters", { type: "invalid_request_error", param });

let gateway: TestGateway;
let account: TestAccount;
let attacker: AttackerListener;

beforeAll(async () => {
  gateway = await openTestGateway({ config: roomyTiers });
  account = await gateway.openAccount({ tier: "enterprise" });
  attacker = await openAttackerListener();
});

afterAll(async () => {
  await gateway.close();
  await attacker.close();
});

/** A billed POST as bytes, good in all but what the row breaks. */
const rerankBytes = (
  lines: readonly string[],
  { body = goodRerank, line = "POST /v1/rerank HTTP/1.1" } = {},
): string => rawRequest({ line, key: account, lines: ["Content-Type: application/json", ...lines], body });

const length = `Content-Length: ${goodRerank.length}`;
const chunked = (size = goodRerank.length.toString(16)) => `${size}\r\n${goodRerank}\r\n0\r\n\r\n`;

/** Sends each and expects the same end for all: this status, one answer at most, connection closed. */
const expectClosedWith = (statuses: readonly number[], inputs: Readonly<Record<string, string>>) =>
  expectNothingHappened(gateway, async () => {
    for (const [name, bytes] of Object.entries(inputs)) {
      const { status, answers, closed } = await sendUntilClosed(gateway.port, bytes, 2_000);
      expect({ name, status: statuses.includes(status ?? 0), answers, closed }).toEqual({
        name,
        status: true,
        answers: 1,
        closed: true,
      });
    }
  });

/** Each request must be answered exactly as its check says, and leave no trace. */
const expectEach = (inputs: readonly (readonly [() => Promise<Response>, (answered: Answered) => void])[]) =>
  expectNothingHappened(gateway, async () => {
    for (const [ask, check] of inputs) check(await read(ask()));
  });

const post = (path: string, body: unknown, headers?: Readonly<Record<string, string>>) =>
  gateway.post(account, path, body, headers);

describe("what the wire can do", () => {
  test("row 1: a request with both Content-Length and Transfer-Encoding smuggles nothing in", async () => {
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

  test("row 2: two Content-Lengths are refused, different or equal", async () => {
    await expectClosedWith([400], {
      different: rerankBytes([length, `Content-Length: ${goodRerank.length + 1}`], {
        body: `${goodRerank} `,
      }),
      equal: rerankBytes([length, length]),
      "in one line": rerankBytes([`${length}, ${goodRerank.length}`]),
    });
  });

  test("row 3: a Content-Length that is not a plain number is refused", async () => {
    const values = [`+${goodRerank.length}`, "-1", "99999999999999999999", "0x10", ""];
    await expectClosedWith(
      [400],
      Object.fromEntries(values.map((value) => [value, rerankBytes([`Content-Length: ${value}`])])),
    );
  });

  test("row 4: a Transfer-Encoding or a chunk that two readers could read differently is refused", async () => {
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

  test("row 5: HTTP/1.0 with chunks is refused", async () => {
    await expectClosedWith([400], {
      chunked: rerankBytes(["Transfer-Encoding: chunked"], {
        line: "POST /v1/rerank HTTP/1.0",
        body: chunked(),
      }),
    });
  });

  test("row 6: malformed header lines are refused", async () => {
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

  test("row 7: a request without a Host, with two, or with one that is no address is refused", async () => {
    const line = `GET ${snapshotPath} HTTP/1.1`;
    await expectClosedWith([400], {
      none: rawRequest({ line, key: account, host: undefined }),
      two: rawRequest({ line, key: account, lines: ["Host: other.test"] }),
      "the same twice": rawRequest({ line, key: account, lines: ["Host: gateway.test"] }),
      "a path": rawRequest({ line, key: account, host: "x/readyz?" }),
      empty: rawRequest({ line, key: account, host: "" }),
    });
  });

  test("row 8: an absolute target is our own path and needs a key; no other host is reached", async () => {
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

  test("row 8: CONNECT opens no tunnel", async () => {
    const peer = `127.0.0.1:${attacker.port}`;
    await expectClosedWith([405], {
      "without a key": rawRequest({ line: `CONNECT ${peer} HTTP/1.1`, host: peer, body: "hello" }),
      "with a key": rawRequest({ line: `CONNECT ${peer} HTTP/1.1`, host: peer, key: account, body: "hello" }),
    });
    expect(attacker.connections()).toBe(0);
  });

  test("row 8: an upgrade to h2c is ignored", async () => {
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

  test("row 10: heads that are too large are refused", async () => {
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

  test("row 11: two Authorization headers are refused, even equal ones", async () => {
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

describe("what a key can look like", () => {
  test("row 12: only a well-formed bearer is looked up; the scheme's case and blanks do not matter", async () => {
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

  test("row 13: a key in the query string opens nothing and is not logged", async () => {
    const names = ["api_key", "key", "access_token", "authorization"];
    await expectEach(
      names.map((name) => [
        () => fetch(`${gateway.url}${snapshotPath}&${name}=${account.key}`),
        flat(401, "missing_api_key"),
      ]),
    );
    expect(gateway.logged.join("")).not.toContain(account.key);
  });

  test("row 14: a revoked key and a suspended account stop within 5 s, and nothing is spent", async () => {
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

  test("row 15: without a credential every path under the API answers 401", async () => {
    const paths = [snapshotPath, tagPath, "/v1/usage", "/v1/requests/x", "/v1/nothing", "/apis/v1/nothing"];
    await expectEach(paths.map((path) => [() => fetch(gateway.url + path), flat(401, "missing_api_key")]));
  });

  test("row 15: the web-traffic route without a credential is 404", async () => {
    const path = "/apis/v1/traffic_analytics/website/traffic-engagement";
    const ask = (headers: Record<string, string>) => () => fetch(gateway.url + path, { headers });
    await expectEach([
      [ask({}), flat(404, "unknown_endpoint")],
      [ask({ "X-Tollgate-Cost-Mode": "quote" }), flat(404, "unknown_endpoint")],
      [ask({ authorization: "Bearer tgk_nobody" }), flat(401, "invalid_api_key")],
    ]);
  });
});

describe("what a body can be", () => {
  const notJson: Readonly<Record<string, string | Uint8Array>> = {
    empty: "",
    blank: "  \n",
    text: "hello",
    form: "query=a&documents=b",
    truncated: goodRerank.slice(0, -1),
    trailing: `${goodRerank}x`,
    "UTF-16": Buffer.from(`\ufeff${goodRerank}`, "utf16le"),
    BOM: Buffer.from(`\ufeff${goodRerank}`),
    "invalid UTF-8": Buffer.concat([
      Buffer.from('{"query":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('","documents":["b"]}'),
    ]),
    NaN: '{"query":"a","documents":["b"],"top_n":NaN}',
    "an array": "[]",
    null: "null",
    "a string": '"x"',
  };

  test("row 16: what is not one JSON object is refused in the endpoint's own shape", async () => {
    for (const [path, check] of [
      ["/v1/rerank", invalid],
      ["/v1/chat/completions", invalidChat(null)],
    ] as const) {
      await expectEach(
        Object.values(notJson).map((body) => [
          () => gateway.call(account, path, { method: "POST", headers: json, body }),
          check,
        ]),
      );
    }
  });

  test("row 16: a member given twice is refused, so what is priced is what is sent", async () => {
    await expectEach([
      [() => post("/v1/rerank", '{"query":"a","query":"b","documents":["c"]}'), invalid],
      [() => post("/v1/rerank", '{"query":"a","quer\\u0079":"b","documents":["c"]}'), invalid],
      [
        () =>
          post(
            "/v1/chat/completions",
            '{"model":"gpt-4o","max_tokens":1,"max_tokens":9999,"messages":[{"role":"user"}]}',
          ),
        invalidChat(null),
      ],
    ]);
  });

  test("row 16: also where it is given twice deep inside", async () => {
    const refused = async (path: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
      const response = await post(path, body, headers);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("a member of the body is given twice");
    };
    const generate = "/v1beta/models/gemini-2.5-flash:generateContent";
    const limited = (config: string) =>
      `{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"maxOutputTokens":65536,${config}}}`;
    await expectNothingHappened(gateway, async () => {
      await refused(generate, limited('"maxOutputTokens":1'));
      await refused(generate, limited('"maxOutputToken\\u0073":1'));
      await refused(
        "/apis/v1/services/aigc/video-generation/video-synthesis",
        '{"model":"wan2.6-t2v","input":{"prompt":"a"},"parameters":{"duration":15,"duration":2}}',
        { "X-Tollgate-Async": "enable" },
      );
      await refused(
        "/v1/chat/completions",
        '{"model":"gpt-4o","messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]}',
      );
    });
  });

  test("row 16: the same name in different objects, or in a text, is no member given twice", async () => {
    const body =
      '{"model":"gpt-4o","metadata":{"model":"a"},"messages":[{"role":"user","content":"a"},' +
      '{"role":"user","content":"{\\"a\\":1,\\"a\\":2}"}],"max_tokens":5}';
    expect((await gateway.post(account, "/v1/chat/completions", body)).status).toBe(200);
  });

  test("row 17: deep, wide and poisoned JSON costs little, is refused and changes no prototype", async () => {
    const wide = `{${Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":1`).join(",")}}`;
    const poisoned = (member: string) =>
      `{"model":"gpt-4o","messages":[{"role":"user","content":"x",${member}:{"polluted":1}}]}`;
    const bodies: Readonly<Record<string, string>> = {
      "100 000 deep": "[".repeat(100_000),
      "100 000 deep objects": '{"a":'.repeat(100_000),
      "1 000 000 keys": wide,
      "a forbidden member": poisoned('"__proto__"'),
      "the same, far from its colon": poisoned(`"__proto__"${" ".repeat(100)}`),
      "the same, escaped": poisoned('"\\u005f_pr\\u006Fto__"'),
      "the other way there": poisoned('"constructor":{"prototype":{"polluted":1}},"x"'),
      "the other way there, escaped": poisoned('"c\\u006Fnstructor":{"prot\\u006Ftype":1},"x"'),
    };
    const refuseAll = async (): Promise<Record<string, number>> => {
      const cpuMs: Record<string, number> = {};
      for (const [name, body] of Object.entries(bodies)) {
        const request = new Request(`${gateway.url}/v1/chat/completions`, {
          method: "POST",
          headers: { ...json, authorization: `Bearer ${account.key}` },
          body,
        });
        const before = process.cpuUsage();
        const response = await gateway.gateway.fetch(request);
        const { user, system } = process.cpuUsage(before);
        cpuMs[name] = (user + system) / 1_000;
        invalidChat(null)(await read(response));
      }
      return cpuMs;
    };

    await expectNothingHappened(gateway, async () => {
      // The best of three: the machine may be busy with other tests.
      const rounds = [await refuseAll(), await refuseAll(), await refuseAll()];
      for (const name of Object.keys(bodies)) {
        const best = Math.min(...rounds.map((round) => round[name] ?? Infinity));
        process.stderr.write(`  row 17, ${name}: ${best.toFixed(1)} ms of CPU\n`);
        expect({ name, best, cheap: best < 250 }).toEqual({ name, best, cheap: true });
      }
    });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("row 17: a harmless member that only looks like the forbidden one is accepted", async () => {
    const response = await post("/v1/rerank", {
      query: "__proto__",
      documents: ["_", "\\u005f_proto__", "__proto__"],
      constructor: { name: "prototype" },
      prototype: { constructor: "Lotus" },
    });
    expect(response.status).toBe(200);
  });

  test("row 18: a compression bomb is refused without being unpacked", async () => {
    const headers = { ...json, "content-encoding": "gzip" };
    const send = (body: Uint8Array, encoding = "gzip") =>
      gateway.call(account, "/v1/rerank", {
        method: "POST",
        headers: { ...headers, "content-encoding": encoding },
        body,
      });
    const honest = gzipLayers(Buffer.from(goodRerank), 1);
    expect((await send(honest)).status).toBe(200);

    const bomb = gzipZeros(1024 ** 3);
    const rssBefore = process.memoryUsage().rss;
    await expectNothingHappened(gateway, async () => {
      for (let repeat = 0; repeat < 5; repeat++) flat(413, "payload_too_large")(await read(send(bomb)));
      flat(413, "payload_too_large")(await read(send(gzipZeros(10_000_000))));
      flat(415, "unsupported_media_type")(await read(send(gzipLayers(honest, 1), "gzip, gzip")));
      flat(415, "unsupported_media_type")(await read(send(honest, "br")));
      invalid(await read(send(Buffer.from("not gzip at all"))));
    });
    expect((process.memoryUsage().rss - rssBefore) / 1024 ** 2).toBeLessThan(192);
  });

  test("row 19: a body one byte over its limit is refused; one at the limit is read", async () => {
    const padded = (bytes: number) => "{}".padEnd(bytes, " ");
    await expectEach([
      [() => post("/v1/rerank", padded(rerankBytesMax)), invalid],
      [() => post("/v1/rerank", padded(rerankBytesMax + 1)), flat(413, "payload_too_large")],
    ]);
  });

  test("row 19: a body that never ends is cut off at the limit and the connection closed", async () => {
    const chunk = `10000\r\n${"a".repeat(65_536)}\r\n`;
    await expectClosedWith([413], {
      announced: rerankBytes([`Content-Length: ${rerankBytesMax + 1}`], { body: "{" }),
      endless: rerankBytes(["Transfer-Encoding: chunked"], { body: chunk.repeat(170) }),
      "beyond any limit": rerankBytes([`Content-Length: ${1024 ** 3}`], { body: "{" }),
    });
  });

  test("row 19: a body beyond any limit is refused in the caller's dialect, under a request id", async () => {
    const line = "POST /v1/messages HTTP/1.1";
    const lines = [`Content-Length: ${36 * 1024 ** 2}`];
    const { status, headers, body } = await sendUntilClosed(
      gateway.port,
      rawRequest({ line, key: account, lines, body: "{" }),
      5_000,
    );
    expect({ status, body: JSON.parse(body) as unknown }).toEqual({
      status: 413,
      body: {
        type: "error",
        error: { type: "request_too_large", code: "payload_too_large", message: someText },
        request_id: headers["x-request-id"],
      },
    });
  });

  test("row 19: a body that trickles is given up and the connection closed", async () => {
    const impatient = await openTestGateway({ parts: { bodyTimeoutMs: 300 } });
    try {
      const slow = await impatient.openAccount();
      const request = (line: string, body: string) =>
        rawRequest({ line: "POST /v1/rerank HTTP/1.1", key: slow, lines: [line], body });
      const answers = await expectNothingHappened(impatient, () =>
        Promise.all([
          sendUntilClosed(impatient.port, request(length, "{"), 5_000),
          sendUntilClosed(impatient.port, request("Transfer-Encoding: chunked", "1\r\n{\r\n"), 5_000),
        ]),
      );
      for (const { status, closed, body, headers } of answers) {
        expect({ status, closed, body: JSON.parse(body) as unknown }).toEqual({
          status: 408,
          closed: true,
          body: { error: someText, code: "request_timeout", request_id: headers["x-request-id"] },
        });
      }
    } finally {
      await impatient.close();
    }
  });
});

describe("what parameters can say", () => {
  test("row 20: a rerank that cannot be ranked is refused and names the field", async () => {
    const rerank = (change: object) => post("/v1/rerank", { query: "a", documents: ["b", "c"], ...change });
    const changes: readonly (readonly [object, string])[] = [
      [{ documents: [] }, "documents"],
      [{ documents: undefined }, "documents"],
      [{ documents: null }, "documents"],
      [{ documents: "b" }, "documents"],
      [{ documents: [""] }, "documents"],
      [{ documents: [1, null] }, "documents"],
      [{ documents: Array<string>(2_049).fill("b") }, "documents"],
      [{ query: "" }, "query"],
      [{ query: undefined }, "query"],
      [{ query: ["a"] }, "query"],
      ...[0, -1, 1.5, "3", 1e300, true].map((top_n) => [{ top_n }, "top_n"] as const),
    ];
    await expectNothingHappened(gateway, async () => {
      for (const [change, field] of changes) {
        const answered = await read(rerank(change));
        invalid(answered);
        expect(answered.body).toHaveProperty("error", expect.stringContaining(field));
      }
      invalid(await read(rerank({ documents: Array<string>(1_000_000).fill("b") })));
    });
  });

  test("the texts of a rerank are bounded by their bytes, not by their characters", async () => {
    const rich = await gateway.openAccount({ creditUsd: "20" });
    const rerank = (change: object) =>
      read(gateway.post(rich, "/v1/rerank", { query: "a", documents: ["b"], ...change }));
    for (const fits of [
      { query: "é".repeat(32 * 1024) },
      { query: "a".repeat(64 * 1024) },
      { documents: ["b", "é".repeat(256 * 1024)] },
    ]) {
      expect((await rerank(fits)).status).toBe(200);
    }
    await expectNothingHappened(gateway, async () => {
      for (const [change, field] of [
        [{ query: "é".repeat(32 * 1024) + "a" }, "query"],
        [{ query: "a".repeat(64 * 1024 + 1) }, "query"],
        [{ documents: ["b", "é".repeat(256 * 1024) + "a"] }, "documents"],
      ] as const) {
        const answered = await rerank(change);
        invalid(answered);
        expect(answered.body).toHaveProperty("error", expect.stringContaining(field));
      }
    });
  });

  test("row 20: a top_n above the number of documents is clamped", async () => {
    const response = await post("/v1/rerank", { query: "a", documents: ["b", "c"], top_n: 1e9 });
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveProperty("results.length", 2);
  });

  test("row 21: a chat limit that is no positive whole number is refused", async () => {
    const complete = (further: object) => post("/v1/chat/completions", chat(further));
    await expectEach([
      ...[-1, 0, 1.5, 1e12, "100", true].map(
        (max_tokens) => [() => complete({ max_tokens }), invalidChat("max_tokens")] as const,
      ),
      [() => complete({ max_completion_tokens: -1 }), invalidChat("max_completion_tokens")],
      ...[0, -1, 1_000_000, "2"].map((n) => [() => complete({ n }), invalidChat("n")] as const),
      [() => complete({ stream: "yes" }), invalidChat("stream")],
      [() => complete({ messages: [] }), invalidChat("messages")],
      [() => complete({ messages: "hi" }), invalidChat("messages")],
    ]);
  });

  test("row 21: the largest limit is held in full or refused, never shrunk", async () => {
    const poor = await gateway.openAccount({ creditUsd: "0.01" });
    const answered = await expectNothingHappened(gateway, () =>
      read(gateway.post(poor, "/v1/chat/completions", chat({ max_tokens: 16_384 }))),
    );
    const bytes = JSON.stringify(chat({ max_tokens: 16_384 })).length;
    openai(402, "insufficient_balance", {
      type: "insufficient_quota",
      retryable: false,
      estimated_micros_usd: Math.ceil(16_384 * 10 + bytes * 2.5),
      limit_micros_usd: 10_000,
    })(answered);
  });

  test("row 23: a model that does not exist is refused in the endpoint's own shape", async () => {
    const missing = openai(404, "model_not_found", { type: "not_found_error", param: "model" });
    await expectEach([
      ...["no-such-model", "../../admin", "gpt-4o\n", "GPT-4O", "__proto__", "gpt-4o/../../v1/files"].map(
        (model) => [() => post("/v1/chat/completions", chat({ model })), missing] as const,
      ),
      ...["", "x".repeat(10_000), 1, null].map(
        (model) => [() => post("/v1/chat/completions", chat({ model })), invalidChat("model")] as const,
      ),
      [
        () => post("/v1/rerank", { query: "a", documents: ["b"], model: "../../admin" }),
        flat(404, "model_not_found"),
      ],
      [
        () => post("/v1/rerank", { query: "a", documents: ["b"], model: "gpt-4o" }),
        flat(404, "model_not_found"),
      ],
    ]);
  });

  test("row 24: odd model paths of the Gemini dialect lead nowhere", async () => {
    const missing = gemini(404, "model_not_found", { status: "NOT_FOUND" });
    const asked = { contents: [{ parts: [{ text: "hello" }] }] };
    await expectEach(
      ["x%2F..%2Fy:generateContent", "x:generateContent:streamGenerateContent", "%00:generateContent"].map(
        (model) => [() => post(`/v1beta/models/${model}`, asked), missing],
      ),
    );
  });

  test("row 25: a usage window that is not two plain timestamps in order is refused, at once", async () => {
    const now = Math.floor(Date.now() / 1000);
    const queries = [
      "",
      "?start_time=",
      "?start_time=0",
      "?start_time=-1",
      "?start_time=%2B1",
      "?start_time=1.5",
      "?start_time=1e3",
      "?start_time=0x10",
      "?start_time=01",
      "?start_time=%201",
      "?start_time=9223372036854775808",
      `?start_time=${now - 10}&start_time=${now - 10}`,
      `?start_time=${now}&end_time=${now - 1}`,
      `?start_time=${now}&end_time=${now}`,
      `?start_time=${now - 10}&end_time=1.5`,
      `?start_time=${now - 10}&end_time=${now}&end_time=${now}`,
      `?start_time=${now + 1_000}`,
      `?start_time=${now + 1_000}&end_time=${now + 2_000}`,
      `?start_time=1&end_time=${100 * 365 * 86_400}`,
      "?start_time=1",
    ];
    const startedMs = performance.now();
    await expectNothingHappened(gateway, async () => {
      for (const query of queries) usage400(await read(gateway.call(account, `/v1/usage${query}`)));
    });
    expect((performance.now() - startedMs) / queries.length).toBeLessThan(200);
  });

  test("row 25: a usage window of exactly 400 days is not too long, and one that starts now is not in the future", async () => {
    const clock = createVirtualClock();
    const still = await openTestGateway({ clock });
    try {
      const asker = await still.openAccount();
      const now = clock.wallMs() / 1000;
      const start = now - 400 * 86_400;
      for (const [query, status] of [
        [`start_time=${start}`, 200],
        [`start_time=${start}&end_time=${now}`, 200],
        [`start_time=${start - 1}`, 400],
        [`start_time=${start}&end_time=${now + 1}`, 400],
        [`start_time=${now}&end_time=${now + 1}`, 200],
        [`start_time=${now + 1}&end_time=${now + 2}`, 400],
      ] as const) {
        expect([query, (await still.call(asker, `/v1/usage?${query}`)).status]).toEqual([query, status]);
      }
    } finally {
      await still.close();
    }
  });

  test("a cursor that no page gave out is 400, and never the first page again", async () => {
    const asker = await gateway.openAccount();
    const other = await gateway.openAccount();
    for (const who of [asker, asker, asker, other, other]) {
      expect((await gateway.call(who, snapshotPath)).status).toBe(200);
    }
    interface Page {
      readonly data: readonly { readonly request_id: string }[];
      readonly next_cursor: string | null;
    }
    const pageOf = async (who: TestAccount, cursor = ""): Promise<Page> =>
      (await (await gateway.call(who, `/v1/requests?limit=1${cursor}`)).json()) as Page;
    const first = await pageOf(asker);
    const second = await pageOf(asker, `&cursor=${first.next_cursor}`);
    expect(new Set([first, second].map(({ data }) => data[0]?.request_id)).size).toBe(2);
    const { next_cursor: foreign } = await pageOf(other);
    for (const cursor of ["garbage", "", "0", "~", crypto.randomUUID(), foreign]) {
      invalid(await read(gateway.call(asker, `/v1/requests?cursor=${cursor}`)));
    }
  });

  test("row 31: an Idempotency-Key that is empty, too long, doubled or not ASCII is 400", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const key of ["", "k".repeat(256), "two words", "a, b"]) {
        const keyed = { method: "POST", headers: { ...json, "Idempotency-Key": key }, body: goodRerank };
        invalid(await read(gateway.call(account, "/v1/rerank", keyed)));
      }
      for (const lines of [
        ["Idempotency-Key: a", "Idempotency-Key: b"],
        ["Idempotency-Key: \xf0\x9f\x98\x80"],
      ]) {
        const { status } = await sendForOne(gateway.port, rerankBytes([...lines, length]));
        expect(status).toBe(400);
      }
    });
  });

  test("row 32: a repeated Idempotency-Key is answered 409 by its state; at most one charge", async () => {
    const own = await gateway.openAccount({ tier: "enterprise" });
    const send = (by: TestAccount, body: string, key = "row-32") =>
      read(
        gateway.call(by, "/v1/rerank", {
          method: "POST",
          headers: { ...json, "Idempotency-Key": key },
          body,
        }),
      );
    expect((await send(own, goodRerank)).status).toBe(200);
    const taken = (code: string) => ({ status: 409, body: { error: { code, retryable: false } } });
    expect(await send(own, goodRerank)).toMatchObject(taken("request_already_completed"));
    expect(await send(own, `${goodRerank} `)).toMatchObject(taken("idempotency_key_reused"));
    expect((await send(account, goodRerank)).status).toBe(200);
  });

  test("row 33: only the very word quote asks for a quote; any other is refused and never executed", async () => {
    const header = "X-Tollgate-Cost-Mode";
    const ask = (value: string) => gateway.call(account, snapshotPath, { headers: { [header]: value } });
    await expectNothingHappened(gateway, async () => {
      for (const value of ["quote", "quote ", " quote"]) {
        const answered = await read(ask(value));
        expect(answered).toMatchObject({
          status: 200,
          body: { object: "cost_estimate", max_cost_micros_usd: snapshotMicros },
        });
      }
      for (const value of [
        "QUOTE",
        "Quote",
        "execute",
        "",
        "quote;q=1",
        "quote, quote",
        "quotes",
        "0",
        "null",
      ]) {
        invalid(await read(ask(value)));
      }
      const twice = await sendForOne(
        gateway.port,
        rawRequest({
          line: `GET ${snapshotPath} HTTP/1.1`,
          key: account,
          lines: [`${header}: quote`, `${header}: execute`],
        }),
      );
      expect(twice.status).toBe(400);
    });
  });

  test("row 33: a free route has no quote and does not answer in its stead", async () => {
    const quote = { headers: { "X-Tollgate-Cost-Mode": "quote" } };
    await expectEach([
      [() => gateway.call(account, "/v1/credits/balance", quote), flat(400, "cost_quote_unsupported")],
      [() => gateway.call(account, "/v1/requests", quote), flat(400, "cost_quote_unsupported")],
      [
        () => gateway.call(account, "/v1/models", quote),
        openai(400, "cost_quote_unsupported", { type: "invalid_request_error" }),
      ],
      [
        () => gateway.call(account, "/v1/usage?start_time=" + (Math.floor(Date.now() / 1000) - 5), quote),
        usage400,
      ],
    ]);
  });

  test("a price cap that is not an amount is refused, and one below the price is never exceeded", async () => {
    const capped = (cap: string) =>
      gateway.call(account, snapshotPath, { headers: { "X-Tollgate-Max-Price-USD": cap } });
    const above = nested(402, "estimated_price_exceeds_max_price", {
      retryable: false,
      estimated_micros_usd: snapshotMicros,
      limit_micros_usd: 47_999,
    });
    await expectEach([
      ...["", "-1", "abc", "1e3", "NaN", "Infinity", "0x1", "1,0", "0.048, 0.048"].map(
        (cap) => [() => capped(cap), invalid] as const,
      ),
      [() => capped("0.047999"), above],
      [() => capped("0.0479999999"), above],
    ]);
    expect((await capped("0.048")).status).toBe(200);
  });
});

describe("what concurrency can do to a balance", () => {
  test("row 34: a balance of nothing, or one micro short, pays for nothing", async () => {
    for (const available of [0, snapshotMicros - 1]) {
      const poor = await gateway.openAccount({ creditUsd: String(available / 1e6), tier: "enterprise" });
      await expectNothingHappened(gateway, async () => {
        nested(402, "insufficient_balance", {
          retryable: false,
          estimated_micros_usd: snapshotMicros,
          limit_micros_usd: available,
        })(await read(gateway.call(poor, snapshotPath)));
      });
    }
  });

  test("row 34: of 500 calls at once on a balance for one, exactly one is served", async () => {
    const poor = await gateway.openAccount({ creditUsd: "0.048", tier: "enterprise" });
    await gateway.sandbox.clear();
    const answers = await Promise.all(
      Array.from({ length: 500 }, async () => read(gateway.call(poor, snapshotPath))),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(499);
    expect(await gateway.balance(poor)).toEqual({ balance: 0, held: 0 });
    expect(await gateway.sandbox.book()).toHaveLength(1);
    expect(await gateway.audit()).toEqual([]);
  });
});

describe("what vendors can say", () => {
  let vendors: TestGateway;
  let caller: TestAccount;
  let financial: BookkeepingDouble<FinancialDatasetsBilled>;
  let model: BookkeepingDouble<OpenAiBilled>;
  let ranker: BookkeepingDouble<JinaBilled>;
  let reseller: BookkeepingDouble<TikHubBilled>;
  let statedUsage: JsonValue | typeof omitted = omitted;
  let statedCode: JsonValue = 200;

  beforeAll(async () => {
    const key = "vendor-key-for-tests";
    financial = await openFinancialDatasetsDouble({ key });
    model = await openOpenAiDouble({ key, models: ["gpt-4o"] });
    ranker = await openJinaDouble({ key, usage: () => statedUsage });
    reseller = await openTikHubDouble({ key, code: () => statedCode });
    vendors = await openTestGateway({
      config: `
${roomyTiers}
upstreams:
  findata:  { protocol: financialdatasets, url: "${financial.url}", key: ${key} }
  openai:   { protocol: openai, url: "${model.url}", key: ${key} }
  jina:     { protocol: jina, url: "${ranker.url}", key: ${key} }
  reseller: { protocol: tikhub, url: "${reseller.url}", key: ${key} }
`,
    });
    caller = await vendors.openAccount({ tier: "enterprise", creditUsd: "100" });
  });

  afterAll(async () => {
    await vendors.close();
    for (const double of [financial, model, ranker, reseller]) await double.close();
  });

  const textOf = ({ requests }: VendorDouble) => Buffer.from(requests.at(-1)?.body ?? []).toString();

  const charged = async (act: () => Promise<Response>) => {
    const before = await vendors.balance(caller);
    const answered = await read(act());
    const after = await vendors.balance(caller);
    expect(after.held).toBe(0);
    return { ...answered, micros: before.balance - after.balance };
  };

  test("row 9: the body and Content-Length of a GET stop here", async () => {
    const answer = await sendForOne(
      vendors.port,
      rawRequest({
        line: `GET ${snapshotPath} HTTP/1.1`,
        key: caller,
        lines: ["Content-Length: 3", "X-Custom: mine"],
        body: "abc",
      }),
    );
    expect(answer.status).toBe(200);
    const sent = financial.requests.at(-1);
    expect(sent?.body).toHaveLength(0);
    const names = sent?.headers.map(([name]) => name.toLowerCase()) ?? [];
    expect(names).not.toContain("content-length");
    expect(names).not.toContain("transfer-encoding");
    expect(names).not.toContain("authorization");
    expect(names).not.toContain("x-custom");
    expect(financial.violations).toEqual([]);
  });

  test("row 21: without a limit of its own, a chat is held under the very limit that is sent", async () => {
    for (const further of [{}, { max_tokens: null }]) {
      const body = chat(further);
      const response = await vendors.post(caller, "/v1/chat/completions", body);
      expect(response.status).toBe(200);
      const sent = JSON.parse(textOf(model)) as Record<string, unknown>;
      expect(sent["max_completion_tokens"]).toBe(16_384);
      const receipt = await read(
        vendors.call(caller, `/v1/requests/${response.headers.get("x-request-id")}`),
      );
      const worst = Math.ceil(16_384 * 10 + JSON.stringify(body).length * 2.5);
      expect(receipt.body).toHaveProperty("held_micros_usd", worst);
    }
  });

  test("row 21: of two limits given at once the larger is held", async () => {
    const quote = { "X-Tollgate-Cost-Mode": "quote" };
    const both = chat({ max_tokens: 16_384, max_completion_tokens: 1 });
    const { body } = await read(vendors.post(caller, "/v1/chat/completions", both, quote));
    expect(body).toHaveProperty(
      "max_cost_micros_usd",
      Math.ceil(16_384 * 10 + JSON.stringify(both).length * 2.5),
    );
  });

  test("row 22: a body cannot choose where its call goes", async () => {
    const elsewhere = {
      api_base: attacker.url,
      base_url: attacker.url,
      endpoint: attacker.url,
      proxy: attacker.url,
      extra_headers: { "X-Stolen": "1" },
      user_api_key: "mine",
    };
    expect((await vendors.post(caller, "/v1/chat/completions", chat(elsewhere))).status).toBe(200);
    expect(
      (await vendors.post(caller, "/v1/rerank", { query: "a", documents: ["b"], ...elsewhere })).status,
    ).toBe(200);
    for (const vendor of [model, ranker]) {
      const sent = vendor.requests.at(-1);
      expect(sent?.headers.map(([name]) => name.toLowerCase())).not.toContain("x-stolen");
      expect(textOf(vendor)).toContain('"model"');
      for (const name of Object.keys(elsewhere)) expect(textOf(vendor)).not.toContain(name);
    }
    expect(attacker.connections()).toBe(0);
  });

  test("row 38: a reseller's answer is paid for only when HTTP and the integer 200 agree", async () => {
    const ask = () => vendors.call(caller, tagPath);
    statedCode = 200;
    expect(await charged(ask)).toMatchObject({ status: 200, micros: 1_450 });
    for (const code of ["200", 400, 200.5, true, null, [200]] as const) {
      statedCode = code;
      expect(await charged(ask)).toMatchObject({ status: 200, micros: 0, body: { code } });
    }
    statedCode = 200;
    reseller.answerNext({ status: 500, headers: json, body: '{"code":200,"data":null}' });
    expect(await charged(ask)).toMatchObject({ status: 500, micros: 0, body: { code: 200, data: null } });
    reseller.answerNext({ kind: "not-json", body: "<h1>hello</h1>", contentType: "text/html" });
    expect(await charged(ask)).toMatchObject({ status: 200, micros: 0, body: "<h1>hello</h1>" });
  });

  test("row 38: a redirect is a failed call, by the upstream's transport, and is never followed", async () => {
    for (const status of [301, 302, 307, 308] as const) {
      reseller.answerNext({ kind: "redirect", status, location: `${attacker.url}/x` });
      const managed = await charged(() => vendors.call(caller, tagPath));
      expect(managed).toMatchObject({
        status: 503,
        micros: 0,
        body: { error: { code: "provider_unavailable", retryable: true, request_id: managed.requestId } },
      });
      financial.answerNext({ kind: "redirect", status, location: `${attacker.url}/x` });
      const native = await charged(() => vendors.call(caller, snapshotPath));
      expect(native.micros).toBe(0);
      flat(502, "provider_request_failed")(native);
    }
    expect(attacker.connections()).toBe(0);
  });

  test("row 39: whatever usage an upstream states, the charge is one, whole, and within the hold", async () => {
    const words = "word ".repeat(400);
    const body = { query: "a", documents: [words] };
    // Held: every byte a token, and eight more for the document, at 0.05 micro-USD each.
    const heldTokens = 1 + words.length + 8;
    const estimated = Math.ceil((1 + words.length) / 4);
    const stated: readonly (readonly [JsonValue | typeof omitted, number])[] = [
      [{ total_tokens: 100 }, 100],
      [{ total_tokens: 0 }, 0],
      [{ total_tokens: -5 }, 0],
      [{ total_tokens: 41.5 }, 41],
      [{ total_tokens: "12" }, estimated],
      [{}, estimated],
      [omitted, estimated],
      [{ total_tokens: heldTokens }, heldTokens],
      [{ total_tokens: heldTokens * 10 }, heldTokens],
      [{ total_tokens: 1e30 }, heldTokens],
    ];
    for (const [usage, tokensPaid] of stated) {
      statedUsage = usage;
      const name = JSON.stringify(usage) ?? "omitted";
      const before = readBooks(vendors.databasePath);
      const call = await charged(() => vendors.post(caller, "/v1/rerank", body));
      const after = readBooks(vendors.databasePath);
      expect(call.status).toBe(200);
      // Fractions of a micro are carried to the next call, so one call may be a micro off by itself.
      expect({ name, off: Math.abs(call.micros - tokensPaid * 0.05) <= 1 }).toEqual({ name, off: true });
      expect((after.rows["call"] ?? 0) - (before.rows["call"] ?? 0)).toBe(1);
    }
    expect(await vendors.audit()).toEqual([]);
  });

  test("row 39: an answer cut off by the upstream is a failure that costs nothing", async () => {
    for (const kind of ["reset", "close"] as const) {
      for (const afterBytes of [0, 40, -1]) {
        financial.answerNext({ kind, afterBytes });
        const call = await charged(() => vendors.call(caller, snapshotPath));
        expect(call.micros).toBe(0);
        flat(502, "provider_request_failed")(call);
      }
    }
    expect(await vendors.audit()).toEqual([]);
  });

  // Row 39 on streams: streams.test.ts.
});

describe("what callers can do while they wait", () => {
  const leave = (bytes: string, go: (socket: Socket) => void): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect({ port: gateway.port, host: "127.0.0.1" });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
      socket.on("connect", () => {
        socket.write(bytes);
        setTimeout(() => go(socket), 60);
      });
    });
  const calm = async () => {
    const deadline = performance.now() + 1_000;
    while (gateway.gateway.callsInFlight() > 0 && performance.now() < deadline) await Bun.sleep(10);
    expect(gateway.gateway.callsInFlight()).toBe(0);
  };

  test("row 40: who leaves before the request is complete leaves no trace and is no error of ours", async () => {
    const errorsBefore = gateway.logged.filter((line) => line.includes('"level":"error"')).length;
    const partial = [
      "POST /v1/rer",
      rerankBytes([length], { body: "" }),
      rerankBytes([length], { body: goodRerank.slice(0, 5) }),
      rerankBytes(["Transfer-Encoding: chunked"], { body: `5\r\n${goodRerank.slice(0, 5)}\r\n` }),
    ];
    await expectNothingHappened(gateway, async () => {
      for (const bytes of partial) {
        await leave(bytes, (socket) => socket.destroy());
        await leave(bytes, (socket) => socket.resetAndDestroy());
      }
      await calm();
    });
    expect(gateway.logged.filter((line) => line.includes('"level":"error"'))).toHaveLength(errorsBefore);
  });

  test("row 40: who leaves while the upstream works has bought what it ordered, once", async () => {
    const quitter = await gateway.openAccount({ tier: "enterprise", creditUsd: "1" });
    const bytes = rawRequest({ line: `GET ${snapshotPath} HTTP/1.1`, key: quitter });
    await gateway.sandbox.clear();
    const ways = [
      (socket: Socket) => socket.destroy(),
      (socket: Socket) => socket.resetAndDestroy(),
      (socket: Socket) => socket.end(),
    ];
    for (const way of ways) {
      await gateway.sandbox.fault({ latency_ms: 200 });
      await leave(bytes, way);
      await calm();
    }
    expect(await gateway.balance(quitter)).toEqual({ balance: 1_000_000 - 3 * snapshotMicros, held: 0 });
    expect(await gateway.sandbox.book()).toHaveLength(3);
    expect(await gateway.audit()).toEqual([]);
  });

  // Row 40 on streams: streams.test.ts; under SIGKILL: kills.test.ts and failpoints.test.ts.
});

describe("paths", () => {
  const variants = [
    "/v1//rerank",
    "/v1/%72erank",
    "/V1/rerank",
    "/v1/RERANK",
    "/v1/rerank/",
    "/v1/rerank.",
    "/v1/rerank;x=1",
    "/v1/rerank%00",
    "/v1/rerank%20",
    "/v1%2frerank",
    "//v1/rerank",
    "/%761/rerank",
    "/v1/%2e/rerank",
    "/v1/./rerank",
    "/v1/x/../rerank",
    "/v1/x/%2e%2e/rerank",
    "/x/../v1/rerank",
    "/v1\\rerank",
  ];
  const asPath = (path: string, key: TestAccount | undefined) =>
    rawRequest({
      line: `POST ${path} HTTP/1.1`,
      key,
      lines: ["Content-Type: application/json", length],
      body: goodRerank,
    });

  test("extra: a variant of a path is that path or none, never a way around the key", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const path of variants) {
        const { status, body } = await sendForOne(gateway.port, asPath(path, undefined));
        expect([401, 404]).toContain(status ?? 0);
        expect(JSON.parse(body)).toHaveProperty(
          "code",
          status === 401 ? "missing_api_key" : "unknown_endpoint",
        );
      }
    });
  });

  test("extra: a variant of a path is no way around the limits of the key", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    const statuses: (number | undefined)[] = [];
    for (let round = 0; round < 8; round++) {
      for (const path of variants.filter((variant) => variant.startsWith("/v1/"))) {
        statuses.push((await sendForOne(gateway.port, asPath(path, free))).status);
      }
    }
    expect(new Set(statuses.slice(0, 60))).toEqual(new Set([200, 404]));
    expect(new Set(statuses.slice(60))).toEqual(new Set([429]));
    expect(statuses.length).toBeGreaterThan(60);
  });
});

describe("links", () => {
  const callback = "/apis/v1/social_a/oauth_callback";
  const start = "/apis/v1/social_a/auth_social_a";
  const begin = async () => (await (await gateway.post(account, start, {})).json()) as { state: string };
  const links = () => readBooks(gateway.databasePath).rows["link"];

  test("row 37: an OAuth callback that was not asked for stores no session", async () => {
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
    const before = links();
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
    expect(links()).toBe(before);
  });

  test("row 37: scopes that are unknown, doubled or too many are 400", async () => {
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

  test("row 37: a write without a link is 403, and nothing happened", async () => {
    await expectNothingHappened(gateway, async () =>
      nested(
        403,
        "link_required",
      )(await read(gateway.post(account, "/apis/v1/social_a/follow_social_a", { target_user_id: "1" }))),
    );
  });
});

describe("video tasks", () => {
  let tollgate: TestGateway;
  beforeAll(async () => void (tollgate = await openTestGateway({ config: roomyTiers })));
  afterAll(() => tollgate.close());
  const rich = () => tollgate.openAccount({ tier: "enterprise", creditUsd: "20" });
  const tasksPath = "/apis/v1/services/aigc/tasks";

  test("row 26: a task polled by query string is 500 unsupported uri", async () => {
    const owner = await rich();
    await expectNothingHappened(tollgate, async () => {
      for (const query of ["task_id=abc", "task_id=a&task_id=b", "task_id="]) {
        const { status, body, requestId } = await read(tollgate.call(owner, `${tasksPath}?${query}`));
        const said = { code: "unsupported_uri", message: "unsupported uri", request_id: requestId };
        expect([status, body]).toEqual([500, said]);
      }
      flat(404, "unknown_endpoint")(await read(tollgate.call(owner, tasksPath)));
    });
  });

  test("row 27: a foreign, random or hostile task id is UNKNOWN or 400, never more", async () => {
    const [owner, stranger] = [await rich(), await rich()];
    const { output } = await createTask(tollgate, owner, video(stuck));
    await expectNothingHappened(tollgate, async () => {
      for (const taskId of [output.task_id, crypto.randomUUID(), "abc", "1", "CREATING", "_".repeat(128)]) {
        const { status, body, requestId } = await read(tollgate.call(stranger, taskPath(taskId)));
        const unknown = { task_id: taskId, task_status: "UNKNOWN" };
        expect([status, body]).toEqual([200, { output: unknown, request_id: requestId }]);
      }
      const hostile = ["'%20OR%201=1", "%00", "a%00b", "x".repeat(4_096), "..%2f..%2f", "a%2fb", "a;b", "é"];
      for (const taskId of hostile) invalid(await read(tollgate.call(stranger, taskPath(taskId))));
    });
  });

  test("row 28: the fourth concurrent video create is 429 with Retry-After", async () => {
    const owner = await rich();
    for (let times = 0; times < 3; times++) await createTask(tollgate, owner, video(stuck));
    await expectNothingHappened(tollgate, async () => {
      const response = await create(tollgate, owner, video(stuck));
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      nested(429, "quota_exceeded", {
        type: "rate_limit_error",
        limit: { name: "concurrent_tasks", limit: 3, remaining: 0, reset: expect.any(Number) as unknown },
      })(await read(response));
    });
  });

  test("row 29: a video create that is not asynchronous, or malformed, is 400", async () => {
    const owner = await rich();
    const good = video("a red fox");
    const send = (body: unknown, headers: Record<string, string> = asynchronous) =>
      tollgate.post(owner, createPath, body, headers);
    await expectNothingHappened(tollgate, async () => {
      const synchronous = "current user api does not support synchronous calls";
      const modes: Record<string, string>[] = [
        {},
        { "x-tollgate-async": "" },
        { "x-tollgate-async": "true" },
        { "x-tollgate-async": "enable, enable" },
      ];
      for (const headers of modes) {
        const answered = await read(send(good, headers));
        invalid(answered);
        expect(answered.body).toMatchObject({ error: synchronous });
      }
      const malformed: unknown[] = [
        { ...good, input: "a red fox" },
        { ...good, input: {} },
        { ...good, input: { prompt: "" } },
        { ...good, input: { prompt: "a".repeat(1024 * 1024) } },
        { ...good, model: undefined },
        { ...good, parameters: "short" },
        ...[0, -2, 2.5, "5", 1e9].map((duration) => ({ ...good, parameters: { duration } })),
      ];
      for (const body of malformed) invalid(await read(send(body)));
      flat(404, "model_not_found")(await read(send({ ...good, model: "no-such-model" })));
    });
  });

  test("row 30: polls beyond 2 per second are 429 and free; the upstream sees 1 per 3 s", async () => {
    const owner = await rich();
    const { output } = await createTask(tollgate, owner, video(stuck));
    const before = await tollgate.balance(owner);
    const startedMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => tollgate.call(owner, taskPath(output.task_id))),
    );
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(98);
    expect(await tollgate.balance(owner)).toEqual(before);
    // Over ten seconds on a virtual clock: task-verdicts.test.ts.
    const asked = (await tollgate.sandbox.book()).filter(({ path }) => path.endsWith(output.task_id));
    expect(asked).toEqual([]);
  });
});

test("extra: contract endpoint: a wrong hash is 409, a traversing operation id 404", async () => {
  const version = await fetch(`${gateway.url}/api/contracts/version`);
  const { contentHash } = (await version.json()) as { contentHash: string };
  await expectNothingHappened(gateway, async () => {
    const ask = async (query: string): Promise<number> =>
      (await fetch(`${gateway.url}/api/contracts/source?${query}`)).status;
    expect(await ask(`hash=${"f".repeat(64)}&bundled=1`)).toBe(409);
    for (const hostile of [
      "../../etc",
      "..%2F..%2Fetc%2Fpasswd",
      "%00",
      "__proto__",
      "' OR 1=1",
      "a".repeat(4_000),
    ]) {
      expect([hostile, await ask(`hash=${contentHash}&operation_id=${hostile}`)]).toEqual([hostile, 404]);
      expect([hostile, await ask(`hash=${hostile}&bundled=1`)]).toEqual([hostile, 400]);
    }
  });
});

describe("rows 35 and 36: the agent door", () => {
  const mcp = (): string => `${gateway.url}/mcp`;
  /** A `use` of the snapshot with its cap as raw JSON text, so that also what is no JSON can be sent. */
  const useWithCap = (cap: string, rest = '"arguments":{"ticker":"AAPL"}'): Promise<Rpc> =>
    send(mcp(), {
      method: "POST",
      headers: modernHeaders(account.key, "tools/call", "use"),
      body:
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"use","arguments":{' +
        `"operation_id":"financial.metrics.snapshot",${rest}${cap === "" ? "" : `,"max_price_usd":${cap}`}},` +
        '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
        '"io.modelcontextprotocol/clientCapabilities":{}}}}',
    });

  test("row 35: MCP use: a cap that is missing, absurd or too low is refused before any spend", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const [cap, code] of [
        ["", "invalid_arguments"],
        ["-1", "invalid_arguments"],
        ['"1"', "invalid_arguments"],
        ["1e309", "invalid_arguments"],
        ["null", "invalid_arguments"],
        ["100001", "invalid_arguments"],
        ["0", "price_cap_exceeded"],
        ["0.047999", "price_cap_exceeded"],
      ] as const) {
        const { status, message } = await useWithCap(cap);
        expect([cap, status]).toEqual([cap, 200]);
        expect(message.result).toMatchObject({
          isError: true,
          structuredContent: { error: { code, charged: "no" } },
        });
      }
      const notJson = await useWithCap("NaN");
      expect([notJson.status, notJson.message.error?.code]).toEqual([400, -32700]);
      const list = await useWithCap("1", '"arguments":[]');
      expect(list.message.result).toMatchObject({ isError: true });
    });
    const { message } = await useWithCap("0.048");
    expect(message.result).toMatchObject({ structuredContent: { settled_micros_usd: snapshotMicros } });
  });

  test("row 36: MCP: foreign sessions, origins, tokens and huge batches are refused", async () => {
    const stranger = await gateway.openAccount();
    await expectNothingHappened(gateway, async () => {
      const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
        fetch(mcp(), {
          method: "POST",
          headers: { ...modernHeaders(account.key, "tools/list"), ...headers },
          body: JSON.stringify(body),
        });
      expect((await post(Array.from({ length: 10_000 }, () => list))).status).toBe(400);
      expect((await post(list, { "mcp-protocol-version": "1999-01-01" })).status).toBe(400);
      expect((await post(list, { origin: "https://evil.example" })).status).toBe(403);
      const session = await openOldClient(mcp(), stranger.key);
      const foreign = { "mcp-session-id": session.sessionId, "mcp-protocol-version": "2025-11-25" };
      expect((await post(list, foreign)).status).toBe(404);
      const token = await post(list, { authorization: `Bearer tgo_${"A".repeat(36)}` });
      expect(token.status).toBe(401);
      expect(token.headers.get("www-authenticate")).toContain("resource_metadata=");
    });
  });
});
