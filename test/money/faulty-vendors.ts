// Vendors that fail and lie as a test tells them to, and a gateway that asks them and is not patient.

import { Database } from "bun:sqlite";
import { afterAll, expect } from "bun:test";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../../gateway/src/upstreams/http/http-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import { json } from "../support/answers.ts";
import { openFinancialDatasetsDouble } from "../doubles/financialdatasets.ts";
import { openJinaDouble } from "../doubles/jina.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { openTikHubDouble } from "../doubles/tikhub.ts";
import type { JsonValue, omitted } from "../doubles/vendor-checks.ts";
import { creditMicros, openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { collectUnhandled } from "../support/unhandled.ts";

export const answerBytesMax = 1024 * 1024;
const timeoutMs = 1_000;
const bodyTimeoutMs = 1_000;

export const ranking = { query: "red fox", documents: ["a blue whale", "the red fox"] };

export type FaultyVendor = "financialdatasets" | "openai" | "jina" | "tikhub";

interface Lies {
  chatUsage?: JsonValue | typeof omitted;
  chatReply?: string;
  rerankUsage?: JsonValue | typeof omitted;
  tikhubCode?: JsonValue | typeof omitted;
}

/** To be called once in a file of tests; the books are audited after the last of them. */
export async function useFaultyVendors() {
  const unhandled = collectUnhandled();
  /** What the doubles state beyond the truth; a test sets it for one call. */
  const lies: Lies = {};
  const doubles = await openDoubles(lies);
  const gateway = await openTestGateway({
    config: configFor((vendor) => doubles[vendor].url),
    parts: {
      forwarder: createForwarder(createHttpClient({ answerBytesMax, bodyTimeoutMs }), protocols),
    },
  });
  // A connection of our own: what it sees is committed.
  const books = new Database(gateway.databasePath, { readonly: true });

  afterAll(async () => {
    expect(await gateway.sandbox.book()).toEqual([]);
    expect(await gateway.audit()).toEqual([]);
    expect(unhandled.stop()).toEqual([]);
    books.close();
    await gateway.close();
    await Promise.all(Object.values(doubles).map((double) => double.close()));
  });

  const receiptOf = (account: TestAccount, response: Response, at = gateway) => at.receipt(account, response);

  /** Money, receipt and report of a call that ended without a charge. */
  const expectNotCharged = async (
    account: TestAccount,
    response: Response,
    receipt: {
      readonly outcome: string;
      readonly attempts: readonly object[];
      readonly http_status?: number | null;
    },
    at = gateway,
  ): Promise<void> => {
    expect(await at.balance(account)).toEqual({ balance: creditMicros, held: 0 });
    expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe("0");
    const written = await receiptOf(account, response, at);
    expect(written).toMatchObject({
      status: "released",
      usage: {},
      usage_source: "none",
      charged_micros_usd: 0,
      usage_value_micros_usd: 0,
      ...receipt,
    });
    expect(written.attempts).toHaveLength(1);
    const start = Math.floor(Date.now() / 1000) - 3600;
    const { totals } = await json<{ totals: object }>(at.call(account, `/v1/usage?start_time=${start}`));
    expect(totals).toMatchObject({ requests: 1, failed_requests: 1, charged_micros_usd: 0 });
  };

  return { lies, doubles, gateway, books, receiptOf, expectNotCharged };
}

const openDoubles = async (lies: Lies) => ({
  financialdatasets: await openFinancialDatasetsDouble({ key: "fd-key-000000" }),
  openai: await openOpenAiDouble({
    key: "sk-key-000000",
    usage: () => ("chatUsage" in lies ? lies.chatUsage : { prompt_tokens: 8, completion_tokens: 2 }),
    reply: () => lies.chatReply ?? "The quick brown fox.",
  }),
  jina: await openJinaDouble({
    key: "jina-key-000000",
    usage: () => lies.rerankUsage ?? { total_tokens: 40 },
  }),
  tikhub: await openTikHubDouble({ key: "th-key-000000", code: () => lies.tikhubCode ?? 200 }),
});

export const configFor = (url: (vendor: FaultyVendor) => string): string => `
upstreams:
  findata: { protocol: financialdatasets, url: "${url("financialdatasets")}", key: fd-key-000000, timeout_ms: ${timeoutMs} }
  openai: { protocol: openai, url: "${url("openai")}", key: sk-key-000000, timeout_ms: ${timeoutMs} }
  jina: { protocol: jina, url: "${url("jina")}", key: jina-key-000000, timeout_ms: ${timeoutMs} }
  reseller: { protocol: tikhub, url: "${url("tikhub")}", key: th-key-000000, timeout_ms: ${timeoutMs} }
models:
  gpt-x: { via: [openai], price: { input: 2.5, cache_read: 0.25, output: 10 }, max_output_tokens: 1000 }
`;
