// Two doubles of each of two vendors, and gateways that ask one or the other, on a clock that can be moved on.

import { expect } from "bun:test";
import type { Clock } from "../../gateway/src/platform/clock.ts";
import { createUpstreamHealth, type UpstreamHealth } from "../../gateway/src/routing/upstream-health.ts";
import { openFinancialDatasetsDouble } from "../doubles/financialdatasets.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

/** A port no system hands out, so that nobody can have taken it meanwhile. */
export const nobodyListens = "http://127.0.0.1:9";
export const price = "price: { input: 2.5, output: 10 }, max_output_tokens: 1000";

export type FinancialDouble = Awaited<ReturnType<typeof openFinancial>>;
export type OpenAiDouble = Awaited<ReturnType<typeof openModel>>;

export interface TwoUpstreams {
  readonly financial: { readonly a: FinancialDouble; readonly b: FinancialDouble };
  readonly model: { readonly a: OpenAiDouble; readonly b: OpenAiDouble };
  /** Parts of the gateways that `open` opens. */
  readonly clock: Clock;
  readonly health: UpstreamHealth;
  /** A gateway whose books are audited before it is closed. */
  readonly open: (config: string) => Promise<TestGateway>;
  /** A configuration with these vendors first and our second doubles behind them. */
  readonly twoOfEach: (firstFinancial: string, firstModel: string) => string;
  /** Time passes by this much more than it does. */
  readonly later: (ms: number) => void;
  /** From now on chance draws these, then zeros. */
  readonly draw: (numbers: readonly number[]) => void;
  /** From now on the upstreams are ones that nobody has met before. */
  readonly meetAnew: () => void;
  readonly close: () => Promise<void>;
}

export async function openTwoUpstreams(): Promise<TwoUpstreams> {
  const financial = { a: await openFinancial(), b: await openFinancial() };
  const model = { a: await openModel(), b: await openModel() };

  let laterMs = 0;
  const monotonicMs = (): number => performance.now() + laterMs;
  const clock = { wallMs: () => Date.now(), monotonicMs };

  let current = createUpstreamHealth(monotonicMs);
  const health: UpstreamHealth = {
    isResting: (name) => current.isResting(name),
    enter: (name) => current.enter(name),
    streams: (name, pass) => current.streams(name, pass),
    leave: (upstream, pass, verdict) => current.leave(upstream, pass, verdict),
    waitFor: (name) => current.waitFor(name),
  };

  let drawn: readonly number[] = [];
  const random = (): number => {
    const [next = 0, ...rest] = drawn;
    drawn = rest;
    return next;
  };

  return {
    financial,
    model,
    clock,
    health,
    open: async (config) => {
      const gateway = await openTestGateway({ config, clock, parts: { health, random } });
      const close = async (): Promise<void> => {
        expect(await gateway.audit()).toEqual([]);
        await gateway.close();
      };
      return { ...gateway, close };
    },
    twoOfEach: (firstFinancial, firstModel) => `
upstreams:
${upstream("fd-b", "financialdatasets", financial.b.url)}
${upstream("fd-a", "financialdatasets", firstFinancial)}
${upstream("oa-b", "openai", model.b.url)}
${upstream("oa-a", "openai", firstModel)}
models:
  gpt-x: { via: [oa-a, oa-b], ${price} }
  embed-x: { via: [oa-a, oa-b], price: { input: 1 } }
  draw-x: { via: [oa-a, oa-b], price: { input: 1, output: 2 } }
operations: { financial.metrics.snapshot: { via: [fd-a, fd-b] } }
`,
    later: (ms) => void (laterMs += ms),
    draw: (numbers) => void (drawn = numbers),
    meetAnew: () => void (current = createUpstreamHealth(monotonicMs)),
    close: async () => {
      const doubles = [financial.a, financial.b, model.a, model.b];
      for (const double of doubles) expect(double.violations).toEqual([]);
      await Promise.all(doubles.map((double) => double.close()));
    },
  };
}

export const openFinancial = () => openFinancialDatasetsDouble({ key: "fd-key-000000" });
const openModel = () =>
  openOpenAiDouble({
    key: "sk-key-000000",
    models: ["gpt-x", "embed-x", "draw-x"],
    usage: { input: 8, output: 2 },
    reply: "The quick brown fox jumps over the lazy dog.",
  });

/** For those that say nothing. Whoever works must never look like them, however busy the machine is. */
const timeoutMs = 2_000;

export const upstream = (name: string, protocol: string, url: string, more = ""): string =>
  `  ${name}: { protocol: ${protocol}, url: "${url}", key: ${protocol === "openai" ? "sk" : "fd"}-key-000000, timeout_ms: ${timeoutMs}${more} }`;

export const json = { "Content-Type": "application/json" };
export const error = (status: number, headers: Readonly<Record<string, string>> = {}): ScriptedAnswer => ({
  status,
  headers: { ...json, ...headers },
  body: `{"error":{"message":"no ${status}"}}`,
});

export const callSnapshot = (account: TestAccount, at: TestGateway): Promise<Response> =>
  at.call(account, snapshotPath);
