// Answers that come piece by piece: what passes, what it costs, and that whoever breaks off, and whenever, neither
// money nor slots nor memory are lost.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Receipt } from "../client/src/operations.ts";
import { openSqliteStore } from "../gateway/src/stores/sqlite/sqlite-store.ts";
import { createForwarder } from "../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../gateway/src/upstreams/http-client.ts";
import { protocols } from "../gateway/src/upstreams/protocols.ts";
import type { StreamScript } from "./doubles/scripted-answer.ts";
import { openGatewayProcess, openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";
import { dataOf, dialectNames, dialects, type DialectName, type Heard } from "./streams/dialects.ts";
import {
  expectChargeOf,
  lastInBook,
  lastReceipt,
  models,
  openModelVendors,
  usageInBook,
  type ModelVendors,
} from "./streams/model-vendors.ts";
import { anthropicClient } from "./streams/anthropic-client.ts";
import { googleClient } from "./streams/google-client.ts";
import type { Reply } from "./streams/official-client.ts";
import { openaiClient } from "./streams/openai-client.ts";
import { openStreamCaller, type StreamCaller } from "./streams/stream-caller.ts";
import { vercelClient } from "./streams/vercel-client.ts";
import { testStore } from "./test-data.ts";

/** Words of four bytes, which is what a token is taken for where nobody counts: so an estimate is exact. */
const wordsCount = 20;
const text = ["word", ...Array.from({ length: wordsCount - 1 }, () => " one")].join("");
const silenceTimeoutMs = 400;
/** Longer than the gateway stays silent before it says that it is still there. */
const longSilenceMs = 10_500;
const leftStreams = Number(process.env["TOLLGATE_LEFT_STREAMS"] ?? 1_000);

let vendors: ModelVendors;
/** Reads a stream to its end when its caller left. */
let draining: TestGateway;
/** Breaks it off. */
let aborting: TestGateway;
/** Gives up soon on a vendor that fell silent. */
let impatient: TestGateway;
let stillSilent: Promise<SilentStreams>;
const unhandled: unknown[] = [];
const noteUnhandled = (error: unknown): void => void unhandled.push(error);

beforeAll(async () => {
  process.on("unhandledRejection", noteUnhandled);
  vendors = await openModelVendors();
  vendors.script.reply = { text };
  const forwarder = createForwarder(createHttpClient({ silenceTimeoutMs }), protocols);
  [draining, aborting, impatient] = await Promise.all([
    openTestGateway({ config: vendors.config({ more: "sandbox: off" }) }),
    openTestGateway({ config: vendors.config({ onCallerLeft: "abort", more: "sandbox: off" }) }),
    openTestGateway({ config: vendors.config({ more: "sandbox: off" }), parts: { forwarder } }),
  ]);
  stillSilent = openSilentStreams();
});

afterAll(async () => {
  const { callers, clients } = await stillSilent;
  await Promise.all([...Object.values(callers).map(({ ended }) => ended), ...clients]);
  process.off("unhandledRejection", noteUnhandled);
  expect(unhandled).toEqual([]);
  for (const gateway of [draining, aborting, impatient]) {
    expect(await gateway.audit()).toEqual([]);
    expect(gateway.gateway.callsInFlight()).toBe(0);
    await gateway.close();
  }
  for (const double of Object.values(vendors.doubles)) expect(double.violations).toEqual([]);
  await vendors.close();
});

const talk = { turns: [{ user: "Go on, please." }] };

interface Asking {
  readonly spoken?: DialectName;
  readonly vendor?: DialectName;
  readonly script?: StreamScript;
  /** Members put into the request beside the usual ones. */
  readonly members?: object;
}

/** Asks for a stream on a raw socket; the vendor plays the script. */
function open(gateway: TestGateway, account: TestAccount, asking: Asking = {}): StreamCaller {
  const { vendor = "openai", spoken = vendor, script, members } = asking;
  const model = models[vendor];
  vendors.doubles[vendor].answerNext({ kind: "stream", ...script });
  const { stream_options: _, ...body } = dialects[spoken].body(talk, model, true);
  const path = dialects[spoken].path(model, true);
  return openStreamCaller(gateway.port, { account, path, body: { ...body, ...members } });
}

const hear = (caller: StreamCaller, spoken: DialectName): Heard =>
  dialects[spoken].hearStream(caller.frames());

const requestIdOf = (caller: StreamCaller): string => /x-request-id: (\S+)/i.exec(caller.head())?.[1] ?? "";

async function slotsFree(gateway: TestGateway, account: TestAccount): Promise<number> {
  const response = await gateway.call(account, "/v1/limits");
  const { limits } = (await response.json()) as { limits: readonly { name: string; remaining: number }[] };
  return limits.find(({ name }) => name === "concurrency")?.remaining ?? Number.NaN;
}

const growthSlots = 50;

/** How many calls the usage report has, and how many of them did not succeed. */
async function failedRequests(gateway: TestGateway, account: TestAccount): Promise<readonly number[]> {
  const start = Math.floor(Date.now() / 1000) - 3600;
  const response = await gateway.call(account, `/v1/usage?start_time=${start}`);
  const { totals } = (await response.json()) as { totals: Readonly<Record<string, number>> };
  return [totals["requests"] ?? 0, totals["failed_requests"] ?? 0];
}

/** Looks again and again, and says how long it took; throws when it takes too long. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startMs > 5_000) throw new Error(`Still not so: ${isSo.toString()}`);
    await Bun.sleep(10);
  }
  return performance.now() - startMs;
}

/** Resolves when nothing of the account is held or taken any more; says how long that took. */
const untilFree = (gateway: TestGateway, account: TestAccount): Promise<number> =>
  until(async () => {
    const { held } = await gateway.balance(account);
    return held === 0 && (await slotsFree(gateway, account)) === growthSlots;
  });

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

describe("usage at the end of an OpenAI stream", () => {
  beforeAll(() => stillSilent);

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

describe("the end of a stream", () => {
  const spokenTo = dialectNames.flatMap((spoken) => dialectNames.map((vendor) => [spoken, vendor] as const));

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

test("a Gemini stream without alt=sse is told to the listener as a stream, which may be silent for long", async () => {
  const account = await draining.openAccount();
  const told: string[] = [];
  const peer = { address: () => "127.0.0.1", answered: (how: string) => void told.push(how) };
  const path = `/v1beta/models/${models.openai}:streamGenerateContent`;
  const request = new Request(draining.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: JSON.stringify(dialects.gemini.body(talk, models.openai, true)),
  });
  await (await draining.gateway.fetch(request, peer)).text();
  expect(told).toEqual(["streamed"]);
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

  test.each(table)(
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

describe("a caller who leaves", () => {
  /** Frames of the vendor's answer as an OpenAI caller gets it: a role, the words, the stop, and [DONE]. */
  const framesCount = wordsCount + 3;
  const moments = [
    { when: "before the head", frames: -1 },
    { when: "after the head", frames: 0 },
    { when: "after one event", frames: 1 },
    { when: "half way", frames: Math.floor(framesCount / 2) },
    { when: "one event before the end", frames: framesCount - 1 },
  ] as const;
  const ways = moments.flatMap((moment) => (["close", "reset"] as const).map((how) => ({ ...moment, how })));

  async function leave(gateway: TestGateway, account: TestAccount, { frames, how }: (typeof ways)[number]) {
    // The head goes out with the first event, so a vendor that waits before it holds back both.
    const script: StreamScript =
      frames === -1 ? { fault: "stall", stallMs: 150, everyMs: 8 } : { everyMs: 8 };
    const caller = open(gateway, account, { script });
    if (frames === -1) await Bun.sleep(60);
    while (frames === 0 && caller.head() === "") await Bun.sleep(1);
    if (frames > 0) await caller.untilFrames(frames);
    expect(caller.head() === "").toBe(frames === -1);
    caller.leave(how);
    return untilFree(gateway, account);
  }

  test.each(ways)("$when by $how pays for the whole where the vendor is read to its end", async (way) => {
    const account = await draining.openAccount();
    expect(await leave(draining, account, way)).toBeLessThan(1_000);
    const entry = lastInBook(vendors.doubles.openai);
    expect(entry.stream).toMatchObject({ whole: true, left: false });
    const receipt = await lastReceipt(draining, account);
    expect(receipt).toMatchObject({ status: "settled", outcome: "succeeded", usage_source: "provider" });
    expectChargeOf(receipt, usageInBook(entry));
    expectSaysHowItEnded(receipt, way);
  });

  test.each(ways)("$when by $how pays for what passed where the vendor is broken off", async (way) => {
    const account = await aborting.openAccount();
    expect(await leave(aborting, account, way)).toBeLessThan(1_000);
    const receipt = await lastReceipt(aborting, account);
    const passed = receipt.usage["output_tokens"] ?? 0;
    // The vendor learns of it when it next speaks, so its own count is one event ahead at most.
    await Bun.sleep(30);
    const { output_tokens: generated = 0 } = usageInBook(lastInBook(vendors.doubles.openai));
    expect(passed).toBeGreaterThanOrEqual(Math.max(0, generated - 1));
    expect(passed).toBeLessThanOrEqual(generated);
    expectChargeOf(receipt, receipt.usage);
    if (passed === 0) expect(receipt).toMatchObject({ status: "released", charged_micros_usd: 0 });
    // Nothing failed: nobody wanted the rest.
    else
      expect(receipt).toMatchObject({ status: "settled", outcome: "succeeded", usage_source: "estimated" });
    if (way.frames < framesCount - 1) {
      expect(lastInBook(vendors.doubles.openai).stream).toMatchObject({ whole: false });
    }
    expectSaysHowItEnded(receipt, way);
  });

  /** Who missed only the mark that ends the stream had all of the answer. */
  function expectSaysHowItEnded(receipt: Receipt, { frames }: (typeof ways)[number]): void {
    const hadAll = frames === framesCount - 1;
    expect(receipt.attempts).toMatchObject([{ outcome: hadAll ? "streaming" : "caller_left" }]);
    if (hadAll) expect(receipt.explanation).not.toContain("left");
    else expect(receipt.explanation).toContain("The caller left before");
    expectReadUntilSettled(receipt);
  }

  /** The clock is looked at for both, one right after the other. */
  function expectReadUntilSettled({ attempts, settled_at: settledAt }: Receipt): void {
    const apartMs = Date.parse(settledAt ?? "") - Date.parse(attempts.at(-1)?.ended_at ?? "");
    expect(apartMs).toBeWithin(0, 50);
  }

  test("when it has all of the answer is not said to have left", async () => {
    for (const gateway of [draining, aborting]) {
      const account = await gateway.openAccount();
      const caller = open(gateway, account, { script: { everyMs: 4 } });
      await caller.untilFrames(framesCount);
      caller.leave();
      await untilFree(gateway, account);
      const receipt = await lastReceipt(gateway, account);
      expect(receipt.attempts).toMatchObject([{ outcome: "streaming" }]);
      expectReadUntilSettled(receipt);
      expect(receipt.explanation).not.toContain("left");
    }
  });

  test("while the vendor has not even begun to answer leaves nothing behind", async () => {
    const slow = await openDelay(vendors.doubles.openai.port, 200);
    for (const onCallerLeft of ["drain", "abort"] as const) {
      const config = vendors.config({ onCallerLeft }).replace(vendors.doubles.openai.url, `${slow.url}/v1`);
      const gateway = await openTestGateway({ config });
      const account = await gateway.openAccount();
      const caller = open(gateway, account);
      await Bun.sleep(60);
      expect(await slotsFree(gateway, account)).toBe(growthSlots - 1);
      caller.leave();
      expect(await untilFree(gateway, account)).toBeLessThan(1_000);
      const receipt = await lastReceipt(gateway, account);
      if (onCallerLeft === "drain") expectChargeOf(receipt, usageInBook(lastInBook(vendors.doubles.openai)));
      else expect(receipt.charged_micros_usd).toBe(0);
      await gateway.close();
    }
    slow.close();
  });

  test.each(["anthropic", "gemini"] as const)("half way pays the same with %s", async (vendor) => {
    for (const gateway of [draining, aborting]) {
      const account = await gateway.openAccount();
      const caller = open(gateway, account, { vendor, script: { everyMs: 8 } });
      await caller.untilFrames(10);
      caller.leave();
      expect(await untilFree(gateway, account)).toBeLessThan(1_000);
      const receipt = await lastReceipt(gateway, account);
      if (gateway === draining) expectChargeOf(receipt, usageInBook(lastInBook(vendors.doubles[vendor])));
      else {
        expect(receipt.usage_source).toBe("estimated");
        expect(receipt.usage["output_tokens"]).toBeLessThan(wordsCount);
        expectChargeOf(receipt, receipt.usage);
      }
    }
  });
});

/** Hands on what it is told at once, and what it is answered a while later. */
async function openDelay(port: number, delayMs: number): Promise<{ url: string; close: () => void }> {
  const server = createServer((caller) => {
    const vendor = connect(port, "127.0.0.1");
    caller.pipe(vendor);
    vendor.on("data", (chunk: Buffer) => setTimeout(() => caller.write(chunk), delayMs));
    caller.on("close", () => vendor.destroy()).on("error", () => undefined);
    vendor.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("There is no port.");
  return { url: `http://127.0.0.1:${address.port}`, close: () => server.close() };
}

test("the sixth stream of a free key is refused while five run, and served when one has ended", async () => {
  const account = await aborting.openAccount({ tier: "free" });
  const running = Array.from({ length: 5 }, () => open(aborting, account, { script: { everyMs: 100 } }));
  await Promise.all(running.map((caller) => caller.untilFrames(1)));
  const body = { ...dialects.openai.body(talk, models.openai, true) };
  const ask = (): Promise<Response> => aborting.post(account, "/v1/chat/completions", body);
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({
    error: {
      type: "rate_limit_error",
      code: "quota_exceeded",
      limit: { name: "concurrency", limit: 5, remaining: 0 },
    },
  });
  const whole = await aborting.post(account, "/v1/chat/completions", {
    ...body,
    stream: false,
    stream_options: undefined,
  });
  expect(whole.status).toBe(200);

  running[0]?.leave();
  await until(async () => (await slotsFree(aborting, account)) > 0);
  const served = await ask();
  expect(served.status).toBe(200);
  await served.text();
  for (const caller of running) caller.leave();
  await until(async () => (await slotsFree(aborting, account)) === 5);
});

// On Postgres it is started elsewhere (nodes.services.test.ts).
describe.skipIf(testStore !== "sqlite")("the program itself", () => {
  const installations: {
    folder: string;
    signal: (signal: NodeJS.Signals) => void;
    exited: Promise<number>;
  }[] = [];

  afterAll(async () => {
    for (const { folder, signal, exited } of installations) {
      signal("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    }
  });

  async function openProgram(onCallerLeft: "drain" | "abort") {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-streams-"));
    const more = `tiers: { free: { rpm: 1000000, tpm: 1000000000, concurrency: 1000 } }\nsignup_credit_usd: 1000\nsandbox: off`;
    const program = await openGatewayProcess({
      dataFolder: folder,
      config: vendors.config({ onCallerLeft, more }),
    });
    installations.push({ folder, signal: program.signal, exited: program.exited });
    const key = /tgk_[0-9A-Za-z]{36}/.exec(program.greeting)?.[0] ?? "";
    const account: TestAccount = { accountId: "", keyId: "", key };
    const request = {
      account,
      path: "/v1/chat/completions",
      body: dialects.openai.body(talk, models.openai, true),
    };
    return {
      ...program,
      folder,
      key,
      open: (script: StreamScript): StreamCaller => {
        vendors.doubles.openai.answerNext({ kind: "stream", ...script });
        return openStreamCaller(Number(new URL(program.url).port), request);
      },
      residentBytes: (): number => {
        const { stdout } = Bun.spawnSync(["ps", "-o", "rss=", "-p", String(program.pid)]);
        return Number(stdout.toString().trim()) * 1024;
      },
      heldMicros: async (): Promise<number> => {
        const headers = { authorization: `Bearer ${key}` };
        const response = await fetch(`${program.url}/v1/credits/balance`, { headers });
        return ((await response.json()) as { held_micros_usd: number }).held_micros_usd;
      },
    };
  }

  test("keeps little of an endless stream for a caller who does not read", async () => {
    const program = await openProgram("abort");
    const before = program.open({});
    expect(await before.ended).toBe(true);
    const residentBefore = program.residentBytes();

    const caller = program.open({ fault: "endless" });
    await caller.untilFrames(1);
    caller.pause();
    const eventsSent = (): number => lastInBook(vendors.doubles.openai).stream?.events ?? 0;
    await Bun.sleep(1_500);
    const sentEarly = eventsSent();
    await Bun.sleep(1_000);
    // The vendor was made to wait: it can send no more, and what it sent is in the kernel's buffers, not in ours.
    expect(eventsSent()).toBe(sentEarly);
    const grownBytes = program.residentBytes() - residentBefore;
    expect(grownBytes).toBeLessThan(16 * 1024 * 1024);
    caller.leave();
    await until(async () => (await program.heldMicros()) === 0);
    // The vendor learns that nobody listens any more.
    await until(() => lastInBook(vendors.doubles.openai).stream?.left === true);
  });

  test(`does not grow with streams that are left: ${leftStreams} of them`, async () => {
    const program = await openProgram("abort");
    const leaveMany = async (count: number): Promise<void> => {
      let left = count;
      const leaveNext = async (): Promise<void> => {
        while (left-- > 0) {
          const caller = program.open({ fault: "stall", afterEvents: 3 });
          await caller.untilFrames(1 + (left % 3));
          caller.leave(left % 2 === 0 ? "close" : "reset");
        }
      };
      await Promise.all(Array.from({ length: 20 }, leaveNext));
      await until(async () => (await program.heldMicros()) === 0);
    };
    await leaveMany(Math.min(500, leftStreams / 2));
    const residentBefore = program.residentBytes();
    await leaveMany(leftStreams);
    expect(program.residentBytes() - residentBefore).toBeLessThan(24 * 1024 * 1024);
    await until(() => vendors.doubles.openai.connections().open < 50);
  });

  test("that is told to stop lets a stream end, settles it, and then stops", async () => {
    const program = await openProgram("drain");
    const caller = program.open({ everyMs: 30 });
    await caller.untilFrames(2);
    program.signal("SIGTERM");
    await Bun.sleep(50);
    const late = fetch(`${program.url}/healthz`).catch(() => "refused");
    expect(await caller.ended).toBe(true);
    expect(hear(caller, "openai")).toMatchObject({ text, stop: "end" });
    expect(caller.frames().at(-1)).toStartWith(": tollgate ");
    expect(await program.exited).toBe(0);
    expect(await late).toBe("refused");

    const store = openSqliteStore({ path: join(program.folder, "tollgate.db") });
    expect((await store.auditor.audit()).findings).toEqual([]);
    const [account] = await store.accounts.list();
    expect(account?.heldMicros).toBe(0n);
    const booked = await store.calls.find(account?.id ?? "", requestIdOf(caller));
    expect(booked).toMatchObject({ state: "settled", usageSource: "provider" });
    expect(booked?.used).toEqual(usageInBook(lastInBook(vendors.doubles.openai)));
    await store.close();
  });
});

describe("a long silence", () => {
  test("is filled with what the dialect has for it, which no official client stumbles over", async () => {
    const { callers, clients } = await stillSilent;
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
