// A gateway in front of a double of each model vendor, all at one price, and what the tests ask of both.

import { expect } from "bun:test";
import type { Receipt } from "../../client/src/operations.ts";
import type { ModelBookEntry, ModelDouble } from "../doubles/model-book.ts";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import { openGeminiDouble } from "../doubles/gemini.ts";
import type { ScriptedReply } from "../doubles/model-reply.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import type { ScriptedUsage, TokenUsage } from "../doubles/token-usage.ts";
import type { TestAccount, TestGateway } from "../support/test-gateway.ts";
import type { DialectName } from "./dialects.ts";

export const models = { openai: "gpt-x", anthropic: "claude-x", gemini: "gemini-x" } as const;
const keys = { openai: "sk-key-000000", anthropic: "sk-ant-000000", gemini: "AIza-000000" } as const;

/** Pico-USD a token, as the configuration below says. */
const prices: Readonly<Record<string, bigint>> = {
  input_tokens: 2_500_000n,
  output_tokens: 10_000_000n,
  cache_read_tokens: 250_000n,
  cache_write_tokens: 3_000_000n,
  cache_write_1h_tokens: 5_000_000n,
};

export interface ModelVendors {
  readonly doubles: Readonly<Record<DialectName, ModelDouble>>;
  /** What the vendors answer from now on, and what they say it cost; undefined is their own count. */
  readonly script: { reply: ScriptedReply; usage: ScriptedUsage | undefined };
  readonly config: (options?: {
    readonly onCallerLeft?: "drain" | "abort";
    /** More members of the upstream of this name. */
    readonly openai?: string;
    readonly more?: string;
  }) => string;
  readonly close: () => Promise<void>;
}

export async function openModelVendors(): Promise<ModelVendors> {
  const script: ModelVendors["script"] = { reply: { text: "Yes." }, usage: undefined };
  // A double asks at every request, so both can change between two tests. To be told no usage is the same to it
  // as not to have been told how to count.
  const said = { reply: () => script.reply, usage: () => script.usage as ScriptedUsage };
  const doubles = {
    openai: await openOpenAiDouble({ key: keys.openai, ...said }),
    anthropic: await openAnthropicDouble({ key: keys.anthropic, ...said }),
    gemini: await openGeminiDouble({ key: keys.gemini, ...said }),
  };
  const upstream = (name: DialectName, onCallerLeft: string, more = ""): string =>
    `{ protocol: ${name}, url: "${doubles[name].url}", key: ${keys[name]}, on_caller_left: ${onCallerLeft}, ${more} }`;
  const price = "{ input: 2.5, cache_read: 0.25, cache_write: 3, cache_write_1h: 5, output: 10 }";
  return {
    doubles,
    script,
    config: ({ onCallerLeft = "drain", openai, more = "" } = {}) => `
upstreams:
  openai: ${upstream("openai", onCallerLeft, openai)}
  anthropic: ${upstream("anthropic", onCallerLeft)}
  gemini: ${upstream("gemini", onCallerLeft)}
models:
  gpt-x: { via: [openai], price: ${price}, max_output_tokens: 8192 }
  claude-x: { via: [anthropic], price: ${price}, max_output_tokens: 8192 }
  gemini-x: { via: [gemini], price: ${price}, max_output_tokens: 8192 }
${more}`,
    close: async () => {
      await Promise.all(Object.values(doubles).map((double) => double.close()));
    },
  };
}

/** The newest call of the account. */
export async function lastReceipt(gateway: TestGateway, account: TestAccount): Promise<Receipt> {
  const response = await gateway.call(account, "/v1/requests?limit=1");
  const { data } = (await response.json()) as { data: readonly Receipt[] };
  const [receipt] = data;
  if (!receipt) throw new Error("There is no receipt.");
  return receipt;
}

/** A receipt that says what the usage costs at our prices; less than a micro may have been carried over. */
export function expectChargeOf(receipt: Receipt, usage: Readonly<Record<string, number>>): void {
  expect(receipt.usage).toEqual(usage);
  const pico = Object.entries(usage).reduce(
    (sum, [unit, quantity]) => sum + BigInt(quantity) * (prices[unit] ?? 0n),
    0n,
  );
  const exact = Number(pico) / 1_000_000;
  expect(Math.abs(receipt.charged_micros_usd - exact)).toBeLessThan(1);
  expect(receipt.held_micros_usd).toBeGreaterThanOrEqual(receipt.charged_micros_usd);
}

/** The vendor's invoice in the units of our receipts. */
export const usageInBook = ({ billed }: ModelBookEntry): Readonly<Record<string, number>> =>
  unitsOf(billed.tokens);

const unitsOf = ({ input, output, cacheRead, cacheWrite, cacheWrite1h }: TokenUsage) => ({
  input_tokens: input,
  output_tokens: output,
  ...(cacheRead > 0 && { cache_read_tokens: cacheRead }),
  ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
  ...(cacheWrite1h > 0 && { cache_write_1h_tokens: cacheWrite1h }),
});

/** The newest line of a vendor's book. */
export function lastInBook({ book }: ModelDouble): ModelBookEntry {
  const entry = book.at(-1);
  if (!entry) throw new Error("The vendor has served nothing.");
  return entry;
}
