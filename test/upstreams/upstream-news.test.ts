// What the operator reads in the log of an upstream that fails, waits, or works again.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { chat } from "../support/purchases.ts";
import type { TestAccount, TestGateway } from "../support/test-gateway.ts";
import { begunStream } from "./routed-calls.ts";
import { error, nobodyListens, openTwoUpstreams, price, callSnapshot, upstream } from "./two-upstreams.ts";

const { financial, model, open, twoOfEach, later, meetAnew, close } = await openTwoUpstreams();
beforeEach(meetAnew);
afterAll(close);

describe("the log", () => {
  interface Line {
    readonly level: string;
    readonly event: string;
    readonly upstream?: string;
    readonly because?: string;
  }
  const failing = "an upstream keeps failing; it rests while there are others";
  const waiting = "an upstream asks to wait; it rests while there are others";
  const well = "an upstream works again";

  const openOne = (url: string): Promise<TestGateway> =>
    open(`upstreams:\n${upstream("fd-a", "financialdatasets", url)}`);
  const toldBy = ({ logged }: TestGateway): object[] =>
    logged
      .map((line) => JSON.parse(line) as Line)
      .filter(({ level }) => level === "warn")
      .map(({ event, upstream: name, because }) => [event, name, because]);
  const failTimes = async (times: number, account: TestAccount, at: TestGateway): Promise<void> => {
    for (let calls = 0; calls < times; calls++) {
      financial.a.answerNext(error(500));
      await callSnapshot(account, at);
    }
  };

  test("says once that an upstream keeps failing and why, and once that it works again", async () => {
    const both = await open(twoOfEach(financial.a.url, model.a.url));
    const account = await both.openAccount({ creditUsd: "50" });
    await failTimes(4, account, both);
    expect(toldBy(both)).toEqual([]);
    await failTimes(1, account, both);
    const told = [[failing, "fd-a", "status 500"]];
    expect(toldBy(both)).toEqual(told);
    for (const pauseMs of [5_000, 10_000]) {
      for (let calls = 0; calls < 3; calls++) expect((await callSnapshot(account, both)).status).toBe(200);
      later(pauseMs);
      await failTimes(1, account, both);
    }
    expect(toldBy(both)).toEqual(told);
    later(20_000);
    for (let calls = 0; calls < 3; calls++) expect((await callSnapshot(account, both)).status).toBe(200);
    expect(toldBy(both)).toEqual([...told, [well, "fd-a", undefined]]);
    expect(both.logged.join("")).not.toContain("fd-key-000000");
    await both.close();
  });

  test("says so of an upstream that is the only one too, each time", async () => {
    const only = await openOne(financial.a.url);
    const account = await only.openAccount({ creditUsd: "50" });
    const told: object[] = [];
    for (let times = 0; times < 2; times++) {
      await failTimes(10, account, only);
      told.push([failing, "fd-a", "status 500"]);
      expect(toldBy(only)).toEqual(told);
      // An answer right after may be that of a call from before.
      expect((await callSnapshot(account, only)).status).toBe(200);
      expect(toldBy(only)).toEqual(told);
      later(5_000);
      for (let calls = 0; calls < 3; calls++) expect((await callSnapshot(account, only)).status).toBe(200);
      told.push([well, "fd-a", undefined]);
      expect(toldBy(only)).toEqual(told);
    }
    await only.close();
  });

  test("names what kept an upstream from answering", async () => {
    const only = await openOne(nobodyListens);
    const account = await only.openAccount({ creditUsd: "50" });
    for (let calls = 0; calls < 7; calls++) await callSnapshot(account, only);
    expect(toldBy(only)).toEqual([[failing, "fd-a", "unreachable"]]);
    await only.close();
  });

  test("says once of an upstream that breaks off its streams that it keeps failing", async () => {
    const both = await open(twoOfEach(financial.a.url, model.a.url));
    const account = await both.openAccount({ creditUsd: "50" });
    for (let times = 0; times < 6; times++)
      model.a.answerNext({ kind: "stream", afterEvents: 4, fault: "reset" });
    const stream = async (): Promise<string> =>
      (await both.post(account, "/v1/chat/completions", { ...chat, stream: true })).text();
    for (let calls = 0; calls < 7; calls++) await stream();
    later(5_000);
    await stream();
    expect(toldBy(both)).toEqual([[failing, "oa-a", "broke_off"]]);
    await both.close();
  });

  test("says once of each model that its upstream answers 404 for it, by the name that it was asked for", async () => {
    const notFound =
      "a call for a model was answered 404; does the upstream have it under this name, and is its address right?";
    const one = await open(`
upstreams:
${upstream("oa-a", "openai", model.a.url)}
models: { gpt-x: { via: [oa-a], ${price} }, gpt-y: { via: [{ oa-a: vendor/y }], ${price} } }
`);
    const account = await one.openAccount({ creditUsd: "50" });
    const asked = ["gpt-x", "gpt-x", "gpt-y"];
    for (const id of asked) {
      for (const stream of [false, true]) {
        model.a.answerNext({
          status: 404,
          headers: { "Content-Type": "text/plain" },
          body: "404 page not found",
        });
        const answer = await one.post(account, "/v1/chat/completions", { ...chat, model: id, stream });
        expect([answer.status, await answer.text()]).toEqual([404, "404 page not found"]);
      }
    }
    const lines = one.logged.map((line) => JSON.parse(line) as Line & { readonly model?: string });
    expect(lines.filter(({ event }) => event === notFound)).toMatchObject([
      { level: "warn", upstream: "oa-a", model: "gpt-x" },
      { level: "warn", upstream: "oa-a", model: "vendor/y" },
    ]);
    await one.close();
  });

  test("does not blame an upstream for what only another one keeps", async () => {
    const both = await open(twoOfEach(financial.a.url, model.a.url));
    const account = await both.openAccount({ creditUsd: "50" });
    const body = '{"error":{"message":"Item with id \'msg_1\' not found.","type":"invalid_request_error"}}';
    model.a.answerNext({ status: 404, headers: { "Content-Type": "application/json" }, body });
    const wish = {
      model: "gpt-x",
      input: "And then?",
      max_output_tokens: 100,
      previous_response_id: "resp_1",
    };
    expect((await both.post(account, "/v1/responses", wish)).status).toBe(200);
    expect(toldBy(both)).toEqual([]);
    await both.close();
  });

  describe("of an account at a vendor without credit", () => {
    const quota = '{"error":{"message":"no","type":"insufficient_quota","code":"insufficient_quota"}}';
    const headers = { "Content-Type": "application/json" };
    const errorsOf = ({ logged }: TestGateway): object[] =>
      logged
        .map((line) => JSON.parse(line) as Line)
        .filter(({ level }) => level === "error")
        .map(({ event, upstream: name }) => [event, name]);
    const empty = "the operator's account at an upstream is out of credit; it rests while there are others";

    const inactive = quota.replaceAll("insufficient_quota", "billing_not_active");
    const limit =
      '{"error":{"message":"no","type":"invalid_request_error","code":"billing_hard_limit_reached"}}';
    test.each([
      { status: 402, body: '{"error":{"message":"no"}}' },
      { status: 429, body: quota },
      { status: 429, body: inactive },
      { status: 400, body: limit },
    ])(
      "says so once, in these words, while the upstream rests for a minute: $status $body",
      async ({ status, body }) => {
        const both = await open(twoOfEach(financial.a.url, model.a.url));
        const account = await both.openAccount({ creditUsd: "50" });
        const ask = async (): Promise<number> =>
          (await both.post(account, "/v1/chat/completions", chat)).status;
        const before = model.a.requests.length;
        for (let times = 0; times < 2; times++) model.a.answerNext({ status, headers, body });
        for (let calls = 0; calls < 3; calls++) expect(await ask()).toBe(200);
        later(59_000);
        expect(await ask()).toBe(200);
        expect(model.a.requests).toHaveLength(before + 1);
        later(1_000);
        for (let calls = 0; calls < 3; calls++) expect(await ask()).toBe(200);
        expect(model.a.requests).toHaveLength(before + 2);
        expect(errorsOf(both)).toEqual([[empty, "oa-a"]]);
        expect(toldBy(both)).toEqual([]);
        await both.close();
      },
    );

    const streams = [
      { path: "/v1/chat/completions", wish: { ...chat, stream: true } },
      { path: "/v1/messages", wish: { ...chat, stream: true } },
      { path: "/v1/responses", wish: { model: "gpt-x", input: "Say it", stream: true } },
    ];
    const begun = (said: object): ScriptedAnswer => ({
      status: 200,
      headers: { "Content-Type": "text/event-stream" },
      // Whoever says it before anything else is asked elsewhere; here the stream has begun.
      body: `${begunStream}data: ${JSON.stringify({ type: "error", error: said })}\n\n`,
    });

    test.each(streams)(
      "says so once when it is said in a stream, and the next stream is another's: $path",
      async ({ path, wish }) => {
        for (const said of [
          { code: "insufficient_quota" },
          { code: 402 },
          { code: "billing_hard_limit_reached", type: "invalid_request_error" },
        ]) {
          meetAnew();
          const both = await open(twoOfEach(financial.a.url, model.a.url));
          const account = await both.openAccount({ creditUsd: "50" });
          const ask = async (): Promise<string> => (await both.post(account, path, wish)).text();
          const before = model.a.requests.length;
          for (let times = 0; times < 2; times++) model.a.answerNext(begun({ ...said, message: "no" }));
          expect(await ask()).toContain("provider cannot go on");
          for (let calls = 0; calls < 3; calls++) expect(await ask()).toContain("fox");
          later(59_000);
          expect(await ask()).toContain("fox");
          expect(model.a.requests).toHaveLength(before + 1);
          // One try in a minute finds what was paid in meanwhile.
          later(1_000);
          expect(await ask()).toContain("provider cannot go on");
          expect(await ask()).toContain("fox");
          expect(model.a.requests).toHaveLength(before + 2);
          expect(errorsOf(both)).toEqual([[empty, "oa-a"]]);
          expect(toldBy(both)).toEqual([]);
          await both.close();
        }
      },
    );

    test.each(streams)(
      "says each time that the key was refused, or a call too large, also in a stream: $path",
      async ({ path, wish }) => {
        const both = await open(twoOfEach(financial.a.url, model.a.url));
        const account = await both.openAccount({ creditUsd: "50" });
        const before = model.a.requests.length;
        for (const said of [
          { code: "invalid_api_key", message: "no" },
          { code: 402, message: "You requested up to 100 tokens; lower max_tokens." },
        ]) {
          model.a.answerNext(begun(said));
          expect(await (await both.post(account, path, wish)).text()).toContain("provider cannot go on");
        }
        // Neither gets better by waiting.
        expect(model.a.requests).toHaveLength(before + 2);
        expect(errorsOf(both)).toEqual([
          ["an upstream refused the operator's key", "oa-a"],
          ["the operator's account at an upstream has too little credit for so large a call", "oa-a"],
        ]);
        await both.close();
      },
    );

    test("says so also of an upstream that was told of before, and of one that asks for a moment only", async () => {
      for (const before of [error(500), error(429, { "Retry-After": "9" })]) {
        const only = await open(
          `upstreams:\n${upstream("oa", "openai", model.a.url)}\nmodels: { gpt-x: { via: [oa], ${price} } }`,
        );
        const account = await only.openAccount({ creditUsd: "50" });
        const ask = async (answer: ScriptedAnswer, times: number): Promise<void> => {
          for (let each = 0; each < times; each++) {
            model.a.answerNext(answer);
            await only.post(account, "/v1/chat/completions", chat);
          }
        };
        await ask(before, 5);
        expect(toldBy(only)).toHaveLength(1);
        await ask({ status: 429, headers: { ...headers, "Retry-After": "1" }, body: quota }, 3);
        expect(errorsOf(only)).toEqual([[empty, "oa"]]);
        expect(toldBy(only)).toHaveLength(1);
        await only.close();
      }
    });

    test("says so of Anthropic's, which is told with a 400", async () => {
      const message = "Your credit balance is too low to access the Anthropic API.";
      const vendor = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: () => Response.json({ type: "error", error: { type: "x", message } }, { status: 400 }),
      });
      const only = await open(
        `upstreams: { claude: { protocol: anthropic, url: "${vendor.url.origin}", key: sk-ant-000000 } }\nmodels: { gpt-x: { via: [claude], ${price} } }`,
      );
      const account = await only.openAccount();
      for (let calls = 0; calls < 3; calls++)
        expect((await only.post(account, "/v1/messages", chat)).status).toBe(503);
      expect(errorsOf(only)).toEqual([[empty, "claude"]]);
      await only.close();
      await vendor.stop(true);
    });

    test("and a caller's client is told not to repeat the call, whichever status the vendor chose", async () => {
      const only = await open(
        `upstreams:\n${upstream("oa", "openai", model.a.url)}\nmodels: { gpt-x: { via: [oa], ${price} } }`,
      );
      const account = await only.openAccount();
      for (const [status, asks, shown] of [
        // As long as it would rest if there were others.
        [429, {}, [429, "60"]],
        [429, { "Retry-After": "9" }, [429, "9"]],
        [402, {}, [503, null]],
      ] as const) {
        model.a.answerNext({ status, headers: { ...headers, ...asks }, body: quota });
        const response = await only.post(account, "/v1/chat/completions", chat);
        expect([response.status, response.headers.get("retry-after")]).toEqual([...shown]);
        expect(response.headers.get("x-should-retry")).toBe("false");
        expect(await response.text()).not.toContain("insufficient_quota");
      }
      await only.close();
    });
  });

  test("is not filled by a vendor that asks for a moment now and then, and tells when that lasts", async () => {
    const only = await openOne(financial.a.url);
    const account = await only.openAccount({ creditUsd: "50" });
    const askToWait = async (): Promise<void> => {
      financial.a.answerNext(error(429, { "Retry-After": "1" }));
      expect((await callSnapshot(account, only)).status).toBe(429);
      later(1_000);
    };
    for (let times = 0; times < 10; times++) {
      await askToWait();
      expect((await callSnapshot(account, only)).status).toBe(200);
    }
    expect(toldBy(only)).toEqual([]);
    for (let times = 0; times < 10; times++) await askToWait();
    expect(toldBy(only)).toEqual([[waiting, "fd-a", "rate_limited"]]);
    await only.close();
  });
});
