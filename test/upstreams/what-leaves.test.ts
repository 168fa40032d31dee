// What callers wrote arrives at the vendor as they wrote it, and what would lead the operator's key astray does not leave.

import { describe, expect, test } from "bun:test";
import { sendRaw } from "../doubles/raw-http.ts";
import { last, openAttackerListener } from "../doubles/vendor-double.ts";
import { chat, chatPath } from "../support/purchases.ts";
import { completion, ranking, tagRoute, textOf, useEveryVendor } from "./every-vendor.ts";

const { doubles, gateway } = await useEveryVendor();

describe("what leaves", () => {
  test("a query travels byte for byte, whatever its encoding, order and repetitions", async () => {
    const account = await gateway.openAccount();
    for (const query of [
      "tag_name=a%2Fb%2e%2E%2F",
      "tag_name=%E4%BD%A0%e5%a5%bd",
      "tag_name=a+b%20c",
      "tag_name=x&lang=en&lang=de&lang=",
      "z=1&tag_name=x&a=2&&=&b=&c",
      "tag_name=%zz%&bad=%c3%28",
      "tag_name=a;b=c?d=e??",
      "tag_name=x%0d%0aX-Injected:%201%00",
      "tag_name={x}|^`[1]\\~!*()@:/,$",
      "%74ag_name=escaped",
      `tag_name=x&long=${"0123456789".repeat(300)}`,
    ]) {
      await sendRaw(
        gateway.port,
        `GET ${tagRoute}?${query} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${account.key}\r\n\r\n`,
        { expectResponses: 1 },
      );
      expect(last(doubles.tikhub).target).toBe(`/api/v1/tiktok/web/fetch_tag_detail?${query}`);
    }
  });

  test("characters a URL may not hold raw arrive percent-encoded and mean the same", async () => {
    const account = await gateway.openAccount();
    const raw = new TextEncoder().encode(
      `GET ${tagRoute}?tag_name='a'"b"<c>é HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${account.key}\r\n\r\n`,
    );
    await sendRaw(gateway.port, raw, { expectResponses: 1 });
    const [, query] = last(doubles.tikhub).target.split("?");
    expect(new URLSearchParams(query).get("tag_name")).toBe(`'a'"b"<c>é`);
  });

  test("a chat body with a limit is forwarded untouched, byte for byte", async () => {
    const account = await gateway.openAccount();
    const body =
      '{ "model":"gpt-x",\n "messages" : [{"role":"user","content":"\\u0041\\ud83d\\ude00 \\/ é"}], "max_tokens":5,' +
      ' "seed":9007199254740993123, "x_unknown":{"a":1.0,"b":1e400,"c":2}, "n":null }';
    doubles.openai.answerNext({ status: 200, body: completion() });
    const response = await gateway.post(account, chatPath, body);
    expect(response.status).toBe(200);
    expect(textOf(last(doubles.openai).body)).toBe(body);
  });

  test("without a limit the model's own is added, it is what the hold was computed from, and no byte of another member changes", async () => {
    const account = await gateway.openAccount();
    const written =
      '"model":"gpt-x", "messages" : [{"role":"user","content":"\\u0041 é"}] , "seed":9007199254740993123';
    const kept =
      '"model":"gpt-x","messages" : [{"role":"user","content":"\\u0041 é"}],"seed":9007199254740993123';
    for (const [body, expected] of [
      [`{${written}}`, `{${kept},"max_tokens":16384}`],
      [`{"max_completion_tokens":null,${written}}`, `{${kept},"max_tokens":16384}`],
      [`{"max_tokens":null,${written}}`, `{"max_tokens":16384,${kept}}`],
    ] as const) {
      doubles.openai.answerNext({ status: 200, body: completion() });
      const response = await gateway.post(account, chatPath, body);
      expect(response.status).toBe(200);
      const sent = textOf(last(doubles.openai).body);
      expect(sent).toBe(expected);
      const bytes = Buffer.byteLength(body);
      const receipt = await gateway.receipt(account, response);
      expect(receipt.held_micros_usd).toBe(Math.ceil(bytes * 2.5 + 16_384 * 10));
    }
  });

  test("members that would send the operator's key elsewhere never leave, however they are spelled", async () => {
    const attacker = await openAttackerListener();
    const account = await gateway.openAccount();
    const { url } = attacker;
    const body = `{"model":"gpt-x","api_base":"${url}","base_url":"${url}","endpoint":"${url}","proxy":"${url}",
      "extra_headers":{"Host":"${url}"},"extra_body":{"api_base":"${url}"},"user_api_key":"x","api_key":"x",
      "\\u0061pi_base2":1,"messages":[{"role":"user","content":"hi"}],"max_tokens":5,"seed":9007199254740993123}`;
    const spellings = ['"api_base"', '"api\\u005fbase"', '"Api_Base"', '"API_BASE"'];
    for (const spelled of spellings.map((spelling) => body.replace('"api_base"', spelling))) {
      doubles.openai.answerNext({ status: 200, body: completion() });
      expect((await gateway.post(account, chatPath, spelled)).status).toBe(200);
      const sent = textOf(last(doubles.openai).body);
      expect(Object.keys(JSON.parse(sent) as object)).toEqual([
        "model",
        "api_base2",
        "messages",
        "max_tokens",
        "seed",
      ]);
      expect(sent).toContain("9007199254740993123");
      expect(sent).not.toContain(url);
    }
    for (const [path, more] of [
      ["/v1/rerank", { ...ranking, api_base: url, base_url: url }],
      [`${chatPath}?api_base=${url}&base_url=${url}`, chat],
    ] as const) {
      await gateway.post(account, path, more, { "x-api-base": url, "x-upstream-url": url });
    }
    await gateway.call(account, `${tagRoute}?tag_name=x&api_base=${url}&url=${url}`);
    expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);
    await attacker.close();
  });
});
