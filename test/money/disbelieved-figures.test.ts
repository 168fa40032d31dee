// What a vendor says of its own price and is not believed, or does not say at all: the operator hears of it.

import { expect, test } from "bun:test";
import { openExaDouble } from "../doubles/exa.ts";
import { openPerplexityDouble } from "../doubles/perplexity.ts";
import { openTavilyDouble } from "../doubles/tavily.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { commentsPath, useDataDoubles } from "../data/data-doubles.ts";

const { gateway, answeredWith } = await useDataDoubles();

const oddOnes = ({ logged }: TestGateway): readonly string[] =>
  logged.filter((line) => line.includes("odd usage reported"));

test("credits that are no number of credits are named, counted as one, and those that are absent are not", async () => {
  const target = `${commentsPath}?url=https://x.test/p/1`;
  for (const [said, odd] of [
    [undefined, 0],
    [null, 0],
    [0, 0],
    [15, 0],
    [2_000_000, 1],
    [-1, 1],
    [0.5, 1],
    ["0", 1],
  ] as const) {
    const before = oddOnes(gateway).length;
    await answeredWith("scrapecreators", target, { success: true, credits_charged: said });
    const lines = oddOnes(gateway).slice(before);
    expect([said, lines.length]).toEqual([said, odd]);
    for (const line of lines) expect(line).toContain("credits_charged is no number of credits");
  }
});

const vendors = {
  perplexity: {
    open: openPerplexityDouble,
    answer: {
      status: "completed",
      output: [{ type: "message", content: [{ type: "output_text", text: "Because." }] }],
    },
  },
  exa: { open: openExaDouble, answer: { output: { content: "Because." } } },
  tavily: { open: openTavilyDouble, answer: { answer: "Because.", results: [] } },
} as const;

test.each(Object.entries(vendors))(
  "research of %s that names no cost is told of",
  async (protocol, vendor) => {
    const key = "operator-0000000000000000";
    const double = await vendor.open({ key });
    const at = await openTestGateway({
      config: `upstreams: { research: { protocol: ${protocol}, url: "${double.url}", key: ${key} } }`,
    });
    try {
      const account = await at.openAccount();
      double.answerNext({
        status: 200,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(vendor.answer),
      });
      const response = await at.post(account, "/apis/v1/research/deep-search", { query: "Why?" });
      expect([response.status, await response.json()]).toMatchObject([200, { answer: "Because." }]);
      expect(await at.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
      expect(oddOnes(at)).toHaveLength(1);
      expect(oddOnes(at)[0]).toContain("no cost was told");
    } finally {
      await at.close();
      await double.close();
    }
  },
);
