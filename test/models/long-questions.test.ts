// A question that is longer than a research vendor takes is for the next one, or refused before anything is held.

import { expect, test } from "bun:test";
import { openExaDouble } from "../doubles/exa.ts";
import { createKeeper } from "../doubles/exchange.ts";
import { openTavilyDouble } from "../doubles/tavily.ts";
import { openTestGateway } from "../support/test-gateway.ts";

const keep = createKeeper();
const key = "operator-000000000000000000";
const path = "/apis/v1/research/deep-search";

test("Tavily is asked up to 400 characters; a longer question is the next vendor's, or 400 by name", async () => {
  const tavily = await keep(openTavilyDouble({ key }));
  const exa = await keep(openExaDouble({ key }));
  const gateway = async (via: string) =>
    keep(
      openTestGateway({
        config: `
upstreams:
  tavily: { protocol: tavily, url: "${tavily.url}", key: "${key}" }
  exa: { protocol: exa, url: "${exa.url}", key: "${key}" }
operations: { research.deep_search: { via: ${via} } }`,
      }),
    );
  const both = await gateway("[tavily, exa]");
  const account = await both.openAccount();
  for (const characters of [400, 401]) {
    const response = await both.post(account, path, { query: "y".repeat(characters) });
    expect(response.status).toBe(200);
  }
  expect([tavily.requests.length, exa.requests.length]).toEqual([1, 1]);

  const alone = await gateway("[tavily]");
  const other = await alone.openAccount();
  const refused = await alone.post(other, path, { query: "y".repeat(401) });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: "query: Tavily takes at most 400 characters" },
  ]);
  expect(tavily.requests).toHaveLength(1);
});
