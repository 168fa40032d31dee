// An agent that buys, each test with an account of its own that has five dollars.

import { afterAll, expect } from "bun:test";
import { useTool, type ToolResult } from "./agent-client.ts";
import { useFreshAccount } from "../support/fresh-account.ts";
import { openTestGateway } from "../support/test-gateway.ts";

export const snapshotOrder = (max: number, more: object = {}) => ({
  operation_id: "financial.metrics.snapshot",
  arguments: { ticker: "AAPL" },
  max_price_usd: max,
  ...more,
});
export const tagOrder = (max: number) => ({
  operation_id: "reseller.social_c.tag_detail",
  arguments: { tag_name: "cats" },
  max_price_usd: max,
});
export const videoOrder = (max: number, prompt: string, more: object = {}) => ({
  operation_id: "video.synthesis.create",
  arguments: { model: "wan2.6-t2v", input: { prompt }, parameters: { size: "1280*720", duration: 5 } },
  max_price_usd: max,
  ...more,
});

/** To be called once in a file of tests; the books are audited after the last of them. */
export async function usePurchases() {
  const gateway = await openTestGateway();
  const account = useFreshAccount(gateway, { creditUsd: "5" });
  const mcp = `${gateway.url}/mcp`;
  afterAll(async () => {
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
  });
  return {
    gateway,
    account,
    mcp,
    use: (given: unknown): Promise<ToolResult> => useTool(mcp, account.key, "use", given),
    spent: async (): Promise<number> => 5_000_000 - (await gateway.balance(account)).balance,
  };
}
