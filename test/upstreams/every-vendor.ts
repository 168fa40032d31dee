// A double of each kind of vendor that answers at once, a gateway in front of them all, and one call for each.

import { afterAll, expect } from "bun:test";
import { openCohereDouble } from "../doubles/cohere.ts";
import { openFinancialDatasetsDouble } from "../doubles/financialdatasets.ts";
import { openJinaDouble } from "../doubles/jina.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { openTikHubDouble } from "../doubles/tikhub.ts";
import { openVoyageDouble } from "../doubles/voyage.ts";
import { chat, chatPath, snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";

/** To be called once in a file of tests; the books are audited after it, and nobody was asked amiss. */
export async function useEveryVendor() {
  const doubles = await openDoubles();
  const gateway = await openTestGateway({ config: configFor((vendor) => doubles[vendor].url) });

  afterAll(async () => {
    expect(await gateway.audit()).toEqual([]);
    expect(await gateway.sandbox.book()).toEqual([]);
    for (const double of Object.values(doubles)) expect(double.violations).toEqual([]);
    await gateway.close();
    await Promise.all(Object.values(doubles).map((double) => double.close()));
  });

  return {
    doubles,
    gateway,
    send: (account: TestAccount, vendor: Vendor, headers: Record<string, string> = {}): Promise<Response> =>
      vendor.body === undefined
        ? gateway.call(account, vendor.path, { headers })
        : gateway.post(account, vendor.path, vendor.body, headers),
  };
}

export const keys = {
  openai: "sk-operator-openai-000000000000",
  jina: "jina_operator_0000000000000000",
  cohere: "co-operator-000000000000000000",
  voyage: "pa-operator-000000000000000000",
  tikhub: "th-operator-000000000000000000",
  financialdatasets: "fd-operator-000000000000000000",
} as const;

export type VendorName = keyof typeof keys;

const openDoubles = async () => ({
  openai: await openOpenAiDouble({ key: keys.openai }),
  jina: await openJinaDouble({ key: keys.jina }),
  cohere: await openCohereDouble({ key: keys.cohere }),
  voyage: await openVoyageDouble({ key: keys.voyage }),
  tikhub: await openTikHubDouble({ key: keys.tikhub }),
  financialdatasets: await openFinancialDatasetsDouble({ key: keys.financialdatasets }),
});

/** As an operator would write it. */
export const configFor = (url: (vendor: VendorName) => string): string => `
upstreams:
  openai: { protocol: openai, url: "${url("openai")}", key: "${keys.openai}" }
  jina: { protocol: jina, url: "${url("jina")}", key: "${keys.jina}" }
  cohere: { protocol: cohere, url: "${url("cohere")}", key: "${keys.cohere}" }
  voyage: { protocol: voyage, url: "${url("voyage")}", key: "${keys.voyage}" }
  reseller: { protocol: tikhub, url: "${url("tikhub")}", key: "${keys.tikhub}" }
  findata: { protocol: financialdatasets, url: "${url("financialdatasets")}", key: "${keys.financialdatasets}" }
models:
  gpt-x: { via: [openai], price: { input: 2.5, cache_read: 0.25, output: 10 }, max_output_tokens: 16384 }
operations:
  financial.metrics.snapshot: { price_usd: 0.048, via: [findata] }
`;

export const tagRoute = "/apis/v1/reseller/social_c/web/fetch_tag_detail";

export const ranking = {
  query: "red fox",
  documents: ["a blue whale", "the red fox", "one fox", "no animal", "another fox"],
};

export interface Vendor {
  readonly name: VendorName;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  /** The same request as the vendor itself takes it. */
  readonly own: { readonly path: string; readonly body?: object };
  readonly keyHeader: readonly [name: string, value: string];
  readonly contentKept: boolean;
  /** Pico-USD a unit, by the configuration above and the specification. */
  readonly prices: Readonly<Record<string, number>>;
}

export const vendors: readonly Vendor[] = [
  {
    name: "financialdatasets",
    method: "GET",
    path: snapshotPath,
    own: { path: "/financial-metrics/snapshot?ticker=AAPL" },
    keyHeader: ["x-api-key", keys.financialdatasets],
    contentKept: true,
    prices: { call: 48_000_000_000 },
  },
  {
    name: "tikhub",
    method: "GET",
    path: `${tagRoute}?tag_name=fox`,
    own: { path: "/tiktok/web/fetch_tag_detail?tag_name=fox" },
    keyHeader: ["authorization", `Bearer ${keys.tikhub}`],
    contentKept: true,
    prices: { call: 1_450_000_000 },
  },
  {
    name: "openai",
    method: "POST",
    path: chatPath,
    body: chat,
    own: { path: "/chat/completions", body: chat },
    keyHeader: ["authorization", `Bearer ${keys.openai}`],
    contentKept: true,
    prices: { input_tokens: 2_500_000, output_tokens: 10_000_000, cache_read_tokens: 250_000 },
  },
  ...(["jina", "cohere", "voyage"] as const).map((name): Vendor => {
    const body = { model: { jina: "jina-reranker-v3", cohere: "rerank-v3.5", voyage: "rerank-2.5" }[name] };
    return {
      name,
      method: "POST",
      path: "/v1/rerank",
      body: { ...body, ...ranking },
      own: { path: "/rerank", body: { ...body, ...ranking } },
      keyHeader: ["authorization", `Bearer ${keys[name]}`],
      contentKept: false,
      prices: { input_tokens: 50_000 },
    };
  }),
];

export const completion = (usage: object = { prompt_tokens: 3, completion_tokens: 1 }): string =>
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
    usage,
  });

export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
