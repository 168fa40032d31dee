// The ways in which a double can be told to misbehave, each seen on the wire.

import { describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { echoBody, createEcho, plainGet } from "./echo.ts";
import { createKeeper } from "./exchange.ts";
import { gzipZeros } from "./gzip-bomb.ts";
import { sendRaw } from "./raw-http.ts";
import { oddHeaderLines } from "./scripted-answer.ts";
import { openAttackerListener } from "./vendor-double.ts";

const keep = createKeeper();
const openEcho = createEcho(keep);

describe("misbehaviour", () => {
  test("scripted answers are used up in order, then the handler answers again", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ status: 503, headers: { "Retry-After": "7" }, body: "busy" });
    vendor.answerNext({ kind: "handler" });
    vendor.answerNext({
      status: 429,
      headers: [
        ["A", "1"],
        ["A", "2"],
      ],
    });
    const { responses } = await sendRaw(vendor.port, plainGet.repeat(4), { expectResponses: 4 });
    expect(responses.map(({ status }) => status)).toEqual([503, 200, 429, 200]);
    expect(responses[0]?.headers).toEqual([
      ["Retry-After", "7"],
      ["Content-Length", "4"],
    ]);
    expect(responses[2]?.headers).toEqual([
      ["A", "1"],
      ["A", "2"],
      ["Content-Length", "0"],
    ]);
  });

  test("close: FIN without a byte, before or after the work", async () => {
    const counts = { worked: 0 };
    const vendor = await openEcho(counts);
    vendor.answerNext({ kind: "close" });
    expect(await sendRaw(vendor.port, plainGet)).toEqual({
      text: "",
      closed: true,
      reset: false,
      responses: [],
    });
    expect(counts.worked).toBe(0);
    vendor.answerNext({ kind: "close", afterWork: true });
    expect((await sendRaw(vendor.port, plainGet)).text).toBe("");
    expect(counts.worked).toBe(1);
  });

  test("an answer can be cut so many bytes before its end", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "close", afterBytes: -2 });
    const cut = await sendRaw(vendor.port, plainGet);
    expect(cut).toMatchObject({ closed: true, reset: false });
    expect(cut.responses[0]).toMatchObject({ body: echoBody.slice(0, -2), complete: false });
    vendor.answerNext({ kind: "reset", afterBytes: Infinity });
    const whole = await sendRaw(vendor.port, plainGet);
    expect(whole.reset).toBe(true);
    expect(whole.responses[0]).toMatchObject({ body: echoBody, complete: true });
  });

  test("reset: RST before any byte, or after so many", async () => {
    const counts = { worked: 0 };
    const vendor = await openEcho(counts);
    vendor.answerNext({ kind: "reset" });
    expect(await sendRaw(vendor.port, plainGet)).toMatchObject({ text: "", closed: true, reset: true });
    expect(counts.worked).toBe(0);
    vendor.answerNext({ kind: "reset", afterBytes: 20 });
    const { text, reset } = await sendRaw(vendor.port, plainGet);
    expect({ length: text.length, reset }).toEqual({ length: 20, reset: true });
    expect(counts.worked).toBe(1);
  });

  test("hang: nothing, or a beginning and then nothing, until the caller gives up", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "hang" });
    expect(await sendRaw(vendor.port, plainGet, { waitMs: 100 })).toMatchObject({ text: "", closed: false });
    vendor.answerNext({ kind: "hang", afterBytes: 12 });
    expect((await sendRaw(vendor.port, plainGet, { waitMs: 100 })).text).toBe("HTTP/1.1 200");
    await Bun.sleep(50);
    expect(vendor.connections()).toEqual({ opened: 2, open: 0 });
  });

  test.each([301, 302, 307, 308] as const)(
    "redirect %d leads to the attacker, who counts",
    async (status) => {
      const vendor = await openEcho();
      const attacker = await keep(openAttackerListener());
      vendor.answerNext({ kind: "redirect", status, location: `${attacker.url}/steal` });
      const answer = await fetch(`${vendor.url}/a`, { redirect: "manual" });
      expect(answer.status).toBe(status);
      expect(answer.headers.get("location")).toBe(`${attacker.url}/steal`);
      expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);

      vendor.answerNext({ kind: "redirect", status, location: `${attacker.url}/steal` });
      await fetch(`${vendor.url}/a`, { signal: AbortSignal.timeout(150) }).catch(() => undefined);
      expect(attacker.connections()).toBe(1);
      expect(attacker.bytes()).toBeGreaterThan(0);
      expect(attacker.received()).toStartWith("GET /steal HTTP/1.1\r\n");
    },
  );

  test("truncated: fewer bytes than announced, then FIN", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "truncated", missingBytes: 10 });
    const { responses, closed } = await sendRaw(vendor.port, plainGet);
    expect(closed).toBe(true);
    expect(responses[0]).toMatchObject({ status: 200, body: echoBody, complete: false });
    expect(responses[0]?.headers).toContainEqual(["Content-Length", `${echoBody.length + 10}`]);
  });

  test("garbage is no HTTP", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "garbage" });
    const { text, responses } = await sendRaw(vendor.port, plainGet);
    expect(text).not.toBe("");
    expect(responses).toEqual([]);
    vendor.answerNext({ kind: "garbage" });
    expect(await outcomeOf(fetch(`${vendor.url}/a`))).toBe("failed");
  });

  test("endless: it floods or beats until the caller leaves", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "endless" });
    const flood = await sendRaw(vendor.port, plainGet, { waitMs: 200 });
    expect(flood.text.length).toBeGreaterThan(1024 * 1024);
    expect(flood.closed).toBe(false);

    vendor.answerNext({
      kind: "endless",
      chunk: ": ping\n\n",
      everyMs: 10,
      contentType: "text/event-stream",
    });
    const { text } = await sendRaw(vendor.port, plainGet, { waitMs: 150 });
    expect(text.split(": ping").length).toBeGreaterThan(3);
    await Bun.sleep(50);
    expect(vendor.connections().open).toBe(0);
  });

  test("huge: exactly so many bytes of JSON", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "huge", bytes: 5_000_000 });
    const text = await (await fetch(`${vendor.url}/a`)).text();
    expect(text.length).toBe(5_000_000);
    expect(JSON.parse(text)).toHaveProperty("pad");
  });

  test("slow: the same body, later", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "slow", chunkBytes: 4, everyMs: 20 });
    const before = performance.now();
    expect(await (await fetch(`${vendor.url}/a`)).text()).toBe(echoBody);
    expect(performance.now() - before).toBeGreaterThan(80);
  });

  test("interim flood: many 1xx, then the answer, or never", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "interim-flood", count: 50 });
    const { responses } = await sendRaw(vendor.port, plainGet, { expectResponses: 1 });
    expect(responses.filter(({ status }) => status === 103)).toHaveLength(50);
    expect(responses.at(-1)?.body).toBe(echoBody);

    vendor.answerNext({ kind: "interim-flood", count: Infinity, status: 100 });
    const endless = await sendRaw(vendor.port, plainGet, { waitMs: 100 });
    expect(endless.responses.length).toBeGreaterThan(50);
    expect(endless.responses.every(({ status }) => status === 100)).toBe(true);
  });

  test("two Content-Lengths stand on the wire, different or equal", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "two-content-lengths" });
    const { text } = await sendRaw(vendor.port, plainGet);
    expect(text).toContain(
      `Content-Length: ${echoBody.length}\r\nContent-Length: ${echoBody.length + 5}\r\n`,
    );
    vendor.answerNext({ kind: "two-content-lengths", values: ["17", "17"] });
    expect((await sendRaw(vendor.port, plainGet)).text).toContain(
      "Content-Length: 17\r\nContent-Length: 17\r\n",
    );
  });

  test("not JSON, yet 200", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "not-json" });
    const answer = await fetch(`${vendor.url}/a`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html"]);
    vendor.answerNext({ kind: "not-json", contentType: "application/json", body: "{" });
    expect(await outcomeOf((await fetch(`${vendor.url}/a`)).json())).toBe("failed");
  });

  test("gzip: unasked, layered, or a bomb", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "gzip" });
    const [plain] = (await sendRaw(vendor.port, plainGet, { expectResponses: 1 })).responses;
    expect(plain?.headers).toContainEqual(["Content-Encoding", "gzip"]);
    expect(gunzipSync(plain?.bodyBytes ?? "").toString()).toBe(echoBody);

    vendor.answerNext({ kind: "gzip", layers: 3 });
    const [layered] = (await sendRaw(vendor.port, plainGet, { expectResponses: 1 })).responses;
    expect(layered?.headers).toContainEqual(["Content-Encoding", "gzip, gzip, gzip"]);
    expect(gunzipSync(gunzipSync(gunzipSync(layered?.bodyBytes ?? ""))).toString()).toBe(echoBody);

    vendor.answerNext({ kind: "gzip", expandsToBytes: 50_000_001 });
    const [bomb] = (await sendRaw(vendor.port, plainGet, { expectResponses: 1 })).responses;
    expect(bomb?.bodyBytes.length).toBeLessThan(100_000);
    expect(gunzipSync(bomb?.bodyBytes ?? "").length).toBe(50_000_001);
  });

  test("a gzip bomb is a valid member at every size", () => {
    for (const bytes of [0, 1, 1024 * 1024, 1024 * 1024 + 1]) {
      expect(gunzipSync(gzipZeros(bytes)).length).toBe(bytes);
    }
  });

  test.each(Object.entries(oddHeaderLines))("odd header %s goes out unchanged", async (_, line) => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "odd-header", lines: [line] });
    const { text, closed } = await sendRaw(vendor.port, plainGet);
    expect(text).toContain(`\r\n${line}\r\n`);
    expect(text).toEndWith(echoBody);
    expect(closed).toBe(true);
  });

  test("bytes: anything at all, and the connection as told", async () => {
    const vendor = await openEcho();
    const bytes = "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody";
    vendor.answerNext({ kind: "bytes", bytes, ending: "close" });
    expect(await sendRaw(vendor.port, plainGet)).toMatchObject({ text: bytes, closed: true, reset: false });
    vendor.answerNext({ kind: "bytes", bytes, ending: "reset" });
    expect(await sendRaw(vendor.port, plainGet)).toMatchObject({ text: bytes, closed: true, reset: true });
    vendor.answerNext({ kind: "bytes", bytes, ending: "hang" });
    expect(await sendRaw(vendor.port, plainGet, { waitMs: 100 })).toMatchObject({
      text: bytes,
      closed: false,
    });
  });

  test("closing ends hanging connections too", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "hang" });
    const exchange = sendRaw(vendor.port, plainGet, { waitMs: 5000 });
    await Bun.sleep(50);
    await vendor.close();
    expect((await exchange).closed).toBe(true);
    expect((await sendRaw(vendor.port, plainGet)).reset).toBe(true);
  });
});

const outcomeOf = (attempt: Promise<unknown>): Promise<"done" | "failed"> =>
  attempt.then(
    () => "done",
    () => "failed",
  );
