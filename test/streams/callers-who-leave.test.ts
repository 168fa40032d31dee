// Callers who leave a stream: they pay for what was used, by the upstream's policy, and their places are free at once.

import { describe, expect, test } from "bun:test";
import { connect, createServer } from "node:net";
import type { Receipt } from "../../client/src/operations.ts";
import type { StreamScript } from "../doubles/scripted-answer.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { growthSlots, slotsFree, talk, untilFree, useAskedStreams, wordsCount } from "./asked-streams.ts";
import { dialects } from "./dialects.ts";
import { expectChargeOf, lastInBook, lastReceipt, models, usageInBook } from "./model-vendors.ts";

const { vendors, watch, open } = await useAskedStreams();

/** The first reads a stream to its end when its caller left, the second breaks it off. */
const [draining, aborting] = await Promise.all([
  openTestGateway({ config: vendors.config({ more: "sandbox: off" }) }),
  openTestGateway({ config: vendors.config({ onCallerLeft: "abort", more: "sandbox: off" }) }),
]);
watch(draining, aborting);

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

  /** How the vendor speaks: slowly enough that who leaves at that moment has left before it says more. */
  function scriptFor(gateway: TestGateway, frames: number): StreamScript {
    const everyMs = 8;
    // The head goes out with the first event, so a vendor that waits before it holds back both.
    if (frames === -1) return { fault: "stall", stallMs: 150, everyMs };
    // What it bills comes next, and on a busy machine might be there before it is broken off.
    if (frames === framesCount - 1 && gateway === aborting)
      return { fault: "stall", afterEvents: frames, stallMs: 500, everyMs };
    return { everyMs };
  }

  async function leave(gateway: TestGateway, account: TestAccount, { frames, how }: (typeof ways)[number]) {
    const script = scriptFor(gateway, frames);
    const { requests } = vendors.doubles.openai;
    const asked = requests.length;
    const caller = open(gateway, account, { script });
    if (frames === -1) await until(() => requests.length > asked);
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
    await until(() => {
      const { stream } = lastInBook(vendors.doubles.openai);
      return stream?.whole === true || stream?.left === true;
    }, 5_000);
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
      await until(async () => (await slotsFree(gateway, account)) === growthSlots - 1);
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
  await until(async () => (await slotsFree(aborting, account)) > 0, 5_000);
  const served = await ask();
  expect(served.status).toBe(200);
  await served.text();
  for (const caller of running) caller.leave();
  await until(async () => (await slotsFree(aborting, account)) === 5, 5_000);
});
