// The door for agents, and an account of twenty dollars that uses it.

import { afterAll, expect } from "bun:test";
import { openTestGateway } from "../support/test-gateway.ts";

/** How keys and tokens look. */
export const credentialForm = /tg[ko]_[0-9A-Za-z]{20}/;

/** To be called once in a file of tests; after the last of them the books are audited and the log searched for credentials. */
export async function useAgentAccount() {
  const gateway = await openTestGateway();
  afterAll(async () => {
    expect(await gateway.audit()).toEqual([]);
    expect(gateway.logged.join("\n")).not.toMatch(credentialForm);
    await gateway.close();
  });
  const account = await gateway.openAccount({ creditUsd: "20" });
  return { gateway, account, mcp: `${gateway.url}/mcp` };
}
