import { afterAll, describe, expect, test } from "bun:test";

import { askDirectly } from "../support/ask-directly.ts";
import { gzipLayers, gzipZeros } from "../doubles/gzip-bomb.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import {
  contentLength,
  goodRerank,
  invalid,
  invalidChat,
  json,
  openBadInputGateway,
} from "./bad-input-gateway.ts";
import { flat, read, someText } from "./error-shapes.ts";
import { expectNothingHappened } from "./nothing-happened.ts";
import { rawRequest, sendUntilClosed } from "./raw-request.ts";

const { gateway, account, post, rerankBytes, expectClosedWith, expectEach, close } =
  await openBadInputGateway();
afterAll(close);

const rerankBytesMax = 10 * 1024 * 1024;

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

  test("what is not one JSON object is refused in the endpoint's own shape", async () => {
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

  test("a member given twice is refused, so what is priced is what is sent", async () => {
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

  test("also where it is given twice deep inside", async () => {
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

  test("the same name in different objects, or in a text, is no member given twice", async () => {
    const body =
      '{"model":"gpt-4o","metadata":{"model":"a"},"messages":[{"role":"user","content":"a"},' +
      '{"role":"user","content":"{\\"a\\":1,\\"a\\":2}"}],"max_tokens":5}';
    expect((await gateway.post(account, "/v1/chat/completions", body)).status).toBe(200);
  });

  test("deep, wide and poisoned JSON costs little, is refused and changes no prototype", async () => {
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
        const response = await askDirectly(gateway.gateway, request);
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
        process.stderr.write(`  ${name}: ${best.toFixed(1)} ms of CPU\n`);
        expect({ name, best, cheap: best < 250 }).toEqual({ name, best, cheap: true });
      }
    });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("a harmless member that only looks like the forbidden one is accepted", async () => {
    const response = await post("/v1/rerank", {
      query: "__proto__",
      documents: ["_", "\\u005f_proto__", "__proto__"],
      constructor: { name: "prototype" },
      prototype: { constructor: "Lotus" },
    });
    expect(response.status).toBe(200);
  });

  test("a compression bomb is refused without being unpacked", async () => {
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

  test("a body one byte over its limit is refused; one at the limit is read", async () => {
    const padded = (bytes: number) => "{}".padEnd(bytes, " ");
    await expectEach([
      [() => post("/v1/rerank", padded(rerankBytesMax)), invalid],
      [() => post("/v1/rerank", padded(rerankBytesMax + 1)), flat(413, "payload_too_large")],
    ]);
  });

  test("a body that never ends is cut off at the limit and the connection closed", async () => {
    const chunk = `10000\r\n${"a".repeat(65_536)}\r\n`;
    await expectClosedWith([413], {
      endless: rerankBytes(["Transfer-Encoding: chunked"], { body: chunk.repeat(170) }),
      "beyond any limit": rerankBytes([`Content-Length: ${1024 ** 3}`], { body: "{" }),
    });
  });

  test("a client that sends too much, and looks for an answer when it has sent it, is told so each time and served on", async () => {
    const times = 10;
    const script = `
      const [base, key] = process.argv.slice(1);
      const post = async (path, body) => {
        const headers = { authorization: "Bearer " + key, "content-type": "application/json", accept: "application/json, text/event-stream" };
        const response = await fetch(base + path, { method: "POST", headers, body });
        await response.text();
        return response.status;
      };
      const large = Buffer.alloc(45_000_000, 32);
      const told = [];
      for (let time = 0; time < ${times}; time++) {
        for (const [path, body] of [["/v1/rerank", large], ["/v1/rerank", ${JSON.stringify(goodRerank)}], ["/mcp", large]])
          told.push(await post(path, body).catch((error) => error.cause?.code ?? String(error)));
      }
      console.log(JSON.stringify(told));
    `;
    const node = Bun.which("node") ?? "node";
    const client = Bun.spawn([node, "--input-type=module", "-e", script, gateway.url, account.key]);
    const told = JSON.parse(await new Response(client.stdout).text()) as unknown;
    expect(told).toEqual(Array.from({ length: times }, () => [413, 200, 413]).flat());
  });

  test("what is left of a body that is too large is not taken for a request; the next one on its connection is", async () => {
    const smuggled = rerankBytes([contentLength], { body: goodRerank });
    const large = smuggled.padEnd(45_000_000, " ");
    const head = rerankBytes([`Content-Length: ${large.length}`], { body: "" });
    const next = rerankBytes([contentLength, "Connection: close"], { body: goodRerank });
    const asked = (await gateway.sandbox.book()).length;
    const { status, answers, closed } = await sendUntilClosed(gateway.port, head + large + next, 20_000);
    expect({ status, answers, closed }).toEqual({ status: 413, answers: 2, closed: true });
    expect((await gateway.sandbox.book()).length).toBe(asked + 1);
  });

  test("a body beyond any limit is refused in the caller's dialect, under a request id", async () => {
    const line = "POST /v1/messages HTTP/1.1";
    const lines = [`Content-Length: ${1024 ** 3}`];
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

  test("a body that trickles is given up and the connection closed", async () => {
    const impatient = await openTestGateway({ parts: { bodyTimeoutMs: 300 } });
    try {
      const slow = await impatient.openAccount();
      const request = (line: string, body: string) =>
        rawRequest({ line: "POST /v1/rerank HTTP/1.1", key: slow, lines: [line], body });
      const answers = await expectNothingHappened(impatient, () =>
        Promise.all([
          sendUntilClosed(impatient.port, request(contentLength, "{"), 5_000),
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
