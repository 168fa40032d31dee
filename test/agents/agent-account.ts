// The door for agents, and an account of twenty dollars that uses it.

import { afterAll, expect } from "bun:test";
import { openTestGateway } from "../support/test-gateway.ts";

/** To be called once in a file of tests; the books are audited after the last of them. */
export async function useAgentAccount() {
  const gateway = await openTestGateway();
  afterAll(async () => {
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
  });
  const account = await gateway.openAccount({ creditUsd: "20" });
  return { gateway, account, mcp: `${gateway.url}/mcp` };
}
