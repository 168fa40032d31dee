// Streams that tests ask for, of vendors that play a script, and what is free again after them.

import { afterAll, expect } from "bun:test";
import type { StreamScript } from "../doubles/scripted-answer.ts";
import type { TestAccount, TestGateway } from "../support/test-gateway.ts";
import { collectUnhandled } from "../support/unhandled.ts";
import { until } from "../support/until.ts";
import type { Heard } from "./dialects/talk.ts";
import { dialects, type DialectName, type SpokenName } from "./dialects.ts";
import { models, openModelVendors } from "./model-vendors.ts";
import { openStreamCaller, type StreamCaller } from "./stream-caller.ts";

/** Words of four bytes, which is what a token is taken for where nobody counts: so an estimate is exact. */
export const wordsCount = 20;
export const text = ["word", ...Array.from({ length: wordsCount - 1 }, () => " one")].join("");
export const talk = { turns: [{ user: "Go on, please." }] };
export const growthSlots = 50;

interface Asking {
  readonly spoken?: SpokenName;
  readonly vendor?: DialectName;
  readonly script?: StreamScript;
  /** Members put into the request beside the usual ones. */
  readonly members?: object;
}

/** To be called once in a file of tests; whoever opens a gateway says so, and its books are audited after the last of them. */
export async function useAskedStreams() {
  const unhandled = collectUnhandled();
  const vendors = await openModelVendors();
  vendors.script.reply = { text };
  const watched: TestGateway[] = [];
  let ended: Promise<unknown> = Promise.resolve();

  afterAll(async () => {
    await ended;
    expect(unhandled.stop()).toEqual([]);
    for (const gateway of watched) {
      expect(await gateway.audit()).toEqual([]);
      expect(gateway.gateway.callsInFlight()).toBe(0);
      await gateway.close();
    }
    for (const double of Object.values(vendors.doubles)) expect(double.violations).toEqual([]);
    await vendors.close();
  });

  return {
    vendors,
    /** What is still under way, for which the end waits. */
    waitFor: (running: Promise<unknown>): void => void (ended = running),
    watch: (...gateways: readonly TestGateway[]): void => void watched.push(...gateways),
    /** Asks for a stream on a raw socket; the vendor plays the script. */
    open: (gateway: TestGateway, account: TestAccount, asking: Asking = {}): StreamCaller => {
      const { vendor = "openai", spoken = vendor, script, members } = asking;
      const model = models[vendor];
      vendors.doubles[vendor].answerNext({ kind: "stream", ...script });
      const { stream_options: _, ...body } = dialects[spoken].body(talk, model, true);
      const path = dialects[spoken].path(model, true);
      return openStreamCaller(gateway.port, { account, path, body: { ...body, ...members } });
    },
  };
}

export const hear = (caller: StreamCaller, spoken: SpokenName): Heard =>
  dialects[spoken].hearStream(caller.frames());

export const requestIdOf = (caller: StreamCaller): string =>
  /x-request-id: (\S+)/i.exec(caller.head())?.[1] ?? "";

export async function slotsFree(gateway: TestGateway, account: TestAccount): Promise<number> {
  const response = await gateway.call(account, "/v1/limits");
  const { limits } = (await response.json()) as { limits: readonly { name: string; remaining: number }[] };
  return limits.find(({ name }) => name === "concurrency")?.remaining ?? Number.NaN;
}

/** Resolves when nothing of the account is held or taken any more; says how long that took. */
export async function untilFree(gateway: TestGateway, account: TestAccount): Promise<number> {
  const startedMs = performance.now();
  await until(async () => {
    const { held } = await gateway.balance(account);
    return held === 0 && (await slotsFree(gateway, account)) === growthSlots;
  }, 5_000);
  return performance.now() - startedMs;
}
