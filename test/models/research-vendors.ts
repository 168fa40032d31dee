// A double of each vendor that does deep research, and a gateway in front of each.

import { afterAll, expect } from "bun:test";
import { openExaDouble } from "../doubles/exa.ts";
import { openPerplexityDouble } from "../doubles/perplexity.ts";
import { openTavilyDouble } from "../doubles/tavily.ts";
import { openTestGateway } from "../support/test-gateway.ts";

/** To be called once in a file of tests; the books are audited after it, and nobody was asked amiss. */
export async function useResearchVendors() {
  const doubles = {
    perplexity: await openPerplexityDouble({ key: keys.perplexity }),
    tavily: await openTavilyDouble({ key: keys.tavily }),
    exa: await openExaDouble({ key: keys.exa }),
  };
  const gateways = {
    perplexity: await openTestGateway({ config: configFor("perplexity", doubles.perplexity.url) }),
    tavily: await openTestGateway({ config: configFor("tavily", doubles.tavily.url) }),
    exa: await openTestGateway({ config: configFor("exa", doubles.exa.url) }),
  };

  afterAll(async () => {
    for (const gateway of Object.values(gateways)) {
      expect(await gateway.audit()).toEqual([]);
      await gateway.close();
    }
    for (const double of Object.values(doubles)) {
      expect(double.violations).toEqual([]);
      await double.close();
    }
  });

  return { doubles, gateways };
}

export const path = "/apis/v1/research/deep-search";
export const query = "Why are foxes quick?";

export const keys = {
  perplexity: "pplx-operator-000000000000",
  tavily: "tvly-operator-000000000000",
  exa: "exa-operator-0000000000000",
} as const;
export type VendorName = keyof typeof keys;

export interface Answer {
  readonly answer: string;
  readonly citations: readonly { readonly url: string; readonly title: string | null }[];
  readonly usage: Readonly<Record<string, number>>;
}

export const configFor = (vendor: VendorName, url: string, more = ""): string =>
  `upstreams: { research: { protocol: ${vendor}, url: "${url}", key: "${keys[vendor]}" } }\n${more}`;

export const scripted = (body: object | string) => ({
  status: 200,
  headers: { "Content-Type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
