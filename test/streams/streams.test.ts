// Answers that come piece by piece: what passes, what it costs, and that whoever breaks off, and whenever, neither
// money nor slots nor memory are lost.

import { describe, expect, test } from "bun:test";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../../gateway/src/upstreams/http/http-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import type { StreamScript } from "../doubles/scripted-answer.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { anthropicClient } from "./anthropic-client.ts";
import { hear, requestIdOf, talk, text, untilFree, useAskedStreams, wordsCount } from "./asked-streams.ts";
import { dataOf } from "./dialects/talk.ts";
import { dialectNames, dialects, spokenNames, type DialectName } from "./dialects.ts";
import { googleClient } from "./google-client.ts";
import { expectChargeOf, lastInBook, lastReceipt, models, usageInBook } from "./model-vendors.ts";
import type { Reply } from "./official-client.ts";
import { openaiClient } from "./openai-client.ts";
import { openStreamCaller, type StreamCaller } from "./stream-caller.ts";
import { vercelClient } from "./vercel-client.ts";

const { vendors, watch, waitFor, open } = await useAskedStreams();

const silenceTimeoutMs = 400;

/** Longer than the gateway stays silent before it says that it is still there. */
const longSilenceMs = 10_500;

const config = vendors.config({ more: "sandbox: off" });
const forwarder = createForwarder(createHttpClient({ silenceTimeoutMs }), protocols);
/** The second gives up soon on a vendor that fell silent. */
const [draining, impatient] = await Promise.all([
  openTestGateway({ config }),
  openTestGateway({ config, parts: { forwarder } }),
]);
watch(draining, impatient);

/** How many calls the usage report has, and how many of them did not succeed. */
async function failedRequests(gateway: TestGateway, account: TestAccount): Promise<readonly number[]> {
  const start = Math.floor(Date.now() / 1000) - 3600;
  const response = await gateway.call(account, `/v1/usage?start_time=${start}`);
  const { totals } = (await response.json()) as { totals: Readonly<Record<string, number>> };
  return [totals["requests"] ?? 0, totals["failed_requests"] ?? 0];
}

interface SilentStreams {
  readonly callers: Readonly<Record<DialectName, StreamCaller>>;
  /** The same through official clients. */
  readonly clients: readonly Promise<Reply>[];
}

/** Begins streams that fall silent for long, so that the other tests can be run meanwhile. */
async function openSilentStreams(): Promise<SilentStreams> {
  const account = await draining.openAccount();
  const script = { afterEvents: 4, fault: "stall", stallMs: longSilenceMs } as const;
  const callers = {
    openai: open(draining, account, { vendor: "openai", script }),
    anthropic: open(draining, account, { vendor: "anthropic", script }),
    gemini: open(draining, account, { vendor: "gemini", script }),
  };
  const official = {
    openai: [openaiClient, vercelClient("openai")],
    anthropic: [anthropicClient, vercelClient("anthropic")],
    gemini: [googleClient, vercelClient("google")],
  } as const;
  const clients = dialectNames.flatMap((vendor) =>
    official[vendor].map((create) => {
      vendors.doubles[vendor].answerNext({ kind: "stream", ...script });
      return create(draining.url, account.key).stream(models[vendor], { text: "Go on, please." });
    }),
  );
  // Their scripts must be taken before another test queues one.
  const begun = (): boolean => Object.values(vendors.doubles).every(({ book }) => book.length >= 3);
  while (!begun()) await Bun.sleep(5);
  return { callers, clients };
}

const { callers, clients } = await openSilentStreams();
waitFor(Promise.all([...Object.values(callers).map(({ ended }) => ended), ...clients]));

describe("usage at the end of an OpenAI stream", () => {
  test("is asked of the vendor although the caller did not ask, beside what the caller asked", async () => {
    const account = await draining.openAccount();
    await open(draining, account, { members: { stream_options: { include_obfuscation: false } } }).ended;
    const { body } = lastInBook(vendors.doubles.openai).request;
    const sent = JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>;
    expect(sent["stream_options"]).toEqual({ include_obfuscation: false, include_usage: true });
  });

  test.each(dialectNames)("is hidden from a caller who did not ask, whoever answers: %s", async (vendor) => {
    const caller = open(draining, await draining.openAccount(), { spoken: "openai", vendor });
    expect(await caller.ended).toBe(true);
    expect(hear(caller, "openai")).toMatchObject({ text, stop: "end", usage: undefined });
    expect(caller.body()).not.toContain("usage");
    expect(caller.frames().at(-2)).toBe("data: [DONE]");
  });

  test.each(dialectNames)("is shown to a caller who asked, whoever answers: %s", async (vendor) => {
    const members = { stream_options: { include_usage: true } };
    const caller = open(draining, await draining.openAccount(), { spoken: "openai", vendor, members });
    expect(await caller.ended).toBe(true);
    const chunks = dataOf(caller.frames())
      .filter((data) => data !== "[DONE]")
      .map((data) => JSON.parse(data) as { choices: readonly unknown[]; usage: unknown });
    const last = chunks.at(-1);
    expect(last?.choices).toEqual([]);
    for (const { usage } of chunks.slice(0, -1)) expect(usage).toBeNull();
    const book = usageInBook(lastInBook(vendors.doubles[vendor]));
    expect(last?.usage).toMatchObject({
      prompt_tokens: book["input_tokens"],
      completion_tokens: book["output_tokens"],
    });
  });
});

test.each(["anthropic", "gemini"] as const)(
  "what a vendor says of the input at once is in the first event of Anthropic's callers: %s",
  async (vendor) => {
    const caller = open(draining, await draining.openAccount(), { spoken: "anthropic", vendor });
    expect(await caller.ended).toBe(true);
    const book = usageInBook(lastInBook(vendors.doubles[vendor]));
    expect(JSON.parse(dataOf(caller.frames())[0] ?? "")).toMatchObject({
      type: "message_start",
      message: { usage: { input_tokens: book["input_tokens"] } },
    });
  },
);

describe("the end of a stream", () => {
  const spokenTo = spokenNames.flatMap((spoken) => dialectNames.map((vendor) => [spoken, vendor] as const));

  test.each(spokenTo)(
    "is told and booked before it closes, and agrees with the receipt: %s callers of %s",
    async (spoken, vendor) => {
      const account = await draining.openAccount();
      const caller = open(draining, account, { spoken, vendor });
      expect(await caller.ended).toBe(true);
      // Looked up in the same turn in which the last byte was read.
      const booked = await draining.store.calls.find(account.accountId, requestIdOf(caller));
      expect(booked?.state).toBe("settled");
      expect((await draining.balance(account)).held).toBe(0);

      const receipt = await lastReceipt(draining, account);
      expect(receipt).toMatchObject({ request_id: requestIdOf(caller), usage_source: "provider" });
      expectChargeOf(receipt, usageInBook(lastInBook(vendors.doubles[vendor])));
      expect(hear(caller, spoken)).toMatchObject({ text, stop: "end", error: undefined });

      const comments = caller.frames().filter((frame) => frame.startsWith(":"));
      const { request_id, charged_micros_usd: cost_micros_usd } = receipt;
      const closing = `: tollgate ${JSON.stringify({ request_id, cost_micros_usd })}`;
      // Google's client would take a comment for data.
      expect(comments).toEqual(spoken === "gemini" ? [] : [closing]);
      if (spoken !== "gemini") expect(caller.frames().at(-1)).toBe(closing);
    },
  );
});

describe("events in odd pieces", () => {
  const lineEnds = { LF: "\n", CRLF: "\r\n", CR: "\r" } as const;
  const shapes = dialectNames.flatMap((vendor) =>
    (["LF", "CRLF", "CR"] as const).flatMap((ends) =>
      (["odd", "together"] as const).map((segments) => ({ vendor, ends, segments })),
    ),
  );

  test.each(shapes)(
    "arrive whole: $vendor, lines end with $ends, $segments",
    async ({ vendor, ends, segments }) => {
      const script = { lineEnd: lineEnds[ends], segments };
      const said = "naïve 🦊 and — then some, \\n escaped";
      vendors.script.reply = { text: said };
      try {
        for (const spoken of [vendor, vendor === "openai" ? "anthropic" : "openai"] as const) {
          const account = await draining.openAccount();
          const caller = open(draining, account, { spoken, vendor, script });
          expect(await caller.ended).toBe(true);
          const frames = caller.body().split(/\r\n\r\n|\n\n|\r\r/);
          expect(dialects[spoken].hearStream(frames)).toMatchObject({ text: said, stop: "end" });
          expectChargeOf(
            await lastReceipt(draining, account),
            usageInBook(lastInBook(vendors.doubles[vendor])),
          );
        }
      } finally {
        vendors.script.reply = { text };
      }
    },
  );
});

describe("a Gemini stream without alt=sse", () => {
  const endings = dialectNames.flatMap((vendor) =>
    (["whole", "cut"] as const).map((ending) => ({ vendor, ending })),
  );

  test.each(endings)("is one JSON array that grows, $ending or not: $vendor", async ({ vendor, ending }) => {
    const fault = ending === "cut" ? ({ fault: "reset", afterEvents: 9 } as const) : {};
    vendors.doubles[vendor].answerNext({ kind: "stream", ...fault });
    const account = await draining.openAccount();
    const path = `/v1beta/models/${models[vendor]}:streamGenerateContent`;
    const body = dialects.gemini.body(talk, models[vendor], true);
    const caller = openStreamCaller(draining.port, { account, path, body });
    expect(await caller.ended).toBe(true);
    expect(caller.head()).toMatch(/content-type: application\/json/i);
    // Whoever passes it on, and our own listener, must know that it comes bit by bit.
    expect(caller.head()).toMatch(/x-accel-buffering: no/i);
    const chunks = JSON.parse(caller.body()) as readonly Readonly<Record<string, unknown>>[];
    const frames = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}`);
    const heard = dialects.gemini.hearStream(frames);
    expect(heard.stop).toBe(ending === "whole" ? "end" : null);
    if (ending === "whole") expect(heard.text).toBe(text);
    else expect(heard.error).toContain("broke off");
    await untilFree(draining, account);
    expect((await lastReceipt(draining, account)).charged_micros_usd).toBeGreaterThan(0);
  });
});

describe("a vendor that does not end as it should", () => {
  interface Broken {
    readonly what: string;
    readonly script: StreamScript;
    /** The last word of the caller's stream. */
    readonly error: RegExp;
  }
  const afterOutput = 9;
  const broken: readonly Broken[] = [
    { what: "resets", script: { fault: "reset" }, error: /broke off/ },
    { what: "closes", script: { fault: "close" }, error: /broke off/ },
    { what: "ends in good order", script: { fault: "end" }, error: /broke off/ },
    { what: "falls silent", script: { fault: "stall" }, error: /broke off/ },
    {
      what: "sends an event of 33 MiB",
      script: { fault: "long-line", lineBytes: 33 * 1024 * 1024 },
      error: /broke off/,
    },
    { what: "gives up with an error", script: { fault: "error" }, error: /./ },
  ];
  const table = dialectNames.flatMap((vendor) => broken.map((row) => ({ vendor, ...row })));

  test.each(table)(
    "and $what in the middle is paid what passed, and the caller is told: $vendor",
    async ({ vendor, script, error }) => {
      const account = await impatient.openAccount();
      const caller = open(impatient, account, { vendor, script: { ...script, afterEvents: afterOutput } });
      expect(await caller.ended).toBe(true);
      const heard = hear(caller, vendor);
      expect(heard.text).not.toBe("");
      expect(text.startsWith(heard.text)).toBe(true);
      expect(heard.error).toMatch(error);
      expect(heard.stop).toBeNull();

      const receipt = await lastReceipt(impatient, account);
      expect(receipt).toMatchObject({ status: "settled", outcome: "failed", usage_source: "estimated" });
      expect(receipt.explanation).toContain("broke off or ended with an error; what had passed");
      // Anthropic has told what it read, and Google what it had written so far.
      expect(receipt.explanation).toContain("did not report all that was used; the rest was estimated");
      expect(receipt.attempts.at(-1)?.outcome).toBe(script.fault === "error" ? "gave_up" : "broke_off");
      expect(await failedRequests(impatient, account)).toEqual([1, 1]);
      const wordsPassed = heard.text.length / 4;
      expect(receipt.usage["output_tokens"]).toBe(wordsPassed);
      expect(usageInBook(lastInBook(vendors.doubles[vendor]))["output_tokens"]).toBeGreaterThanOrEqual(
        wordsPassed,
      );
      expectChargeOf(receipt, receipt.usage);
      await untilFree(impatient, account);
    },
  );

  /** Where an error comes before the first word, there is no stream: that is told by its status. */
  const withStream = table.filter(({ script }) => script.fault !== "error");

  test.each(withStream)(
    "and $what before it said anything is paid nothing: $vendor",
    async ({ vendor, script, error }) => {
      const account = await impatient.openAccount();
      // The first event of OpenAI and of Anthropic holds no text yet; Gemini has no such event.
      const afterEvents = vendor === "gemini" ? 0 : 1;
      const caller = open(impatient, account, { vendor, script: { ...script, afterEvents } });
      expect(await caller.ended).toBe(true);
      expect(hear(caller, vendor).error).toMatch(error);
      expect(await lastReceipt(impatient, account)).toMatchObject({
        outcome: "failed",
        charged_micros_usd: 0,
      });
      await untilFree(impatient, account);
      expect(await impatient.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    },
  );

  test.each([
    ["openai", openaiClient, 502, 0],
    ["openai", openaiClient, 502, 1],
    ["anthropic", anthropicClient, 529, 0],
    ["anthropic", anthropicClient, 529, 1],
    ["gemini", googleClient, 503, 0],
  ] as const)(
    "and gives up with an error before its first word is heard by official clients as by its status: %s",
    async (vendor, create, status, afterEvents) => {
      const account = await draining.openAccount();
      vendors.doubles[vendor].answerNext({ kind: "stream", fault: "error", afterEvents });
      const asking = create(draining.url, account.key).stream(models[vendor], { text: "Go on, please." });
      const refusal: unknown = await asking.catch((error: unknown) => error);
      expect(refusal).toMatchObject({ status });
      const receipt = await lastReceipt(draining, account);
      expect(receipt).toMatchObject({ outcome: "failed", charged_micros_usd: 0, http_status: status });
      expect(await draining.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    },
  );

  test("and is silent for no longer than its timeout_ms is waited for", async () => {
    const config = vendors.config({ more: "sandbox: off" });
    const patient = await openTestGateway({
      config: config.replace("protocol: openai,", "protocol: openai, timeout_ms: 5000,"),
      parts: { forwarder: createForwarder(createHttpClient({ silenceTimeoutMs: 100 }), protocols) },
    });
    const account = await patient.openAccount();
    const script = { fault: "stall", stallMs: 600, afterEvents: 4 } as const;
    const caller = open(patient, account, { script });
    expect(await caller.ended).toBe(true);
    expect(hear(caller, "openai")).toMatchObject({ text, stop: "end", error: undefined });
    await patient.close();
  });

  test.each(dialectNames)(
    "and breaks off one event before the last is paid what passed: %s",
    async (vendor) => {
      const whole = open(draining, await draining.openAccount(), { vendor });
      await whole.ended;
      const events = lastInBook(vendors.doubles[vendor]).stream?.events ?? 0;

      const account = await draining.openAccount();
      const caller = open(draining, account, { vendor, script: { fault: "reset", afterEvents: events - 1 } });
      expect(await caller.ended).toBe(true);
      expect(hear(caller, vendor).text).toBe(text);
      const receipt = await lastReceipt(draining, account);
      // OpenAI and Anthropic say how it ended and what it cost in the last event but one, Gemini in the last.
      expect(receipt.outcome).toBe(vendor === "gemini" ? "failed" : "succeeded");
      expect(receipt.usage_source).toBe(vendor === "gemini" ? "estimated" : "provider");
      expectChargeOf(receipt, usageInBook(lastInBook(vendors.doubles[vendor])));
    },
  );

  test.each(dialectNames)("and never says what it cost is paid by what passed: %s", async (vendor) => {
    const account = await draining.openAccount();
    const caller = open(draining, account, { vendor, script: { withoutUsage: true } });
    expect(await caller.ended).toBe(true);
    expect(hear(caller, vendor)).toMatchObject({ text, stop: "end", error: undefined });
    const receipt = await lastReceipt(draining, account);
    expect(receipt).toMatchObject({ status: "settled", outcome: "succeeded", usage_source: "estimated" });
    expect(receipt.usage["output_tokens"]).toBe(wordsCount);
    expectChargeOf(receipt, receipt.usage);
  });

  test("and ends in good order too early does not look like a whole answer in another dialect", async () => {
    for (const spoken of dialectNames) {
      const script = { fault: "end", afterEvents: afterOutput } as const;
      const vendor = spoken === "anthropic" ? "openai" : "anthropic";
      const account = await draining.openAccount();
      const caller = open(draining, account, { spoken, vendor, script });
      expect(await caller.ended).toBe(true);
      expect(await lastReceipt(draining, account)).toMatchObject({ status: "settled", outcome: "failed" });
      const { stop, error } = hear(caller, spoken);
      expect(stop).toBeNull();
      expect(error).toContain("broke off");
      expect(caller.body()).not.toContain("[DONE]");
    }
  });
});

describe("a long silence", () => {
  test("is filled with what the dialect has for it, which no official client stumbles over", async () => {
    for (const client of clients) expect(await client).toMatchObject({ text });
    for (const name of dialectNames) {
      expect(await callers[name].ended).toBe(true);
      expect(hear(callers[name], name)).toMatchObject({ text, stop: "end", error: undefined });
    }
    expect(callers.openai.frames().filter((frame) => frame === ": ping")).toHaveLength(1);
    const pings = callers.anthropic.frames().filter((frame) => frame.startsWith("event: ping"));
    // One is the vendor's own.
    expect(pings).toHaveLength(2);
    // Google's client takes every line for data, so there is nothing to fill it with.
    expect(callers.gemini.body()).not.toContain("ping");
  });
});
