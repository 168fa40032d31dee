// A client whose dear calls need a person's yes, each test with an account of its own that has five dollars.

import { afterAll, expect } from "bun:test";
import { useTool, type ToolResult } from "./agent-client.ts";
import { useFreshAccount } from "../support/fresh-account.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { createPerson } from "../sign-in/oauth-person.ts";

/** What may cost more than 4 cents needs a person here; a snapshot costs 4.8. */
export const config = "mcp: { auto_approve_usd: 0.04 }";
export const creditUsd = "5";

export const dear = (ticker = "AAPL", max = 0.1) => ({
  operation_id: "financial.metrics.snapshot",
  arguments: { ticker },
  max_price_usd: max,
});
export const cheap = {
  operation_id: "reseller.social_c.tag_detail",
  arguments: { tag_name: "cats" },
  max_price_usd: 0.01,
};
export const canAsk = { capabilities: { elicitation: { form: {} } } };
export const yes = { approval: { action: "accept", content: { approve: true } } };

export interface Handle {
  readonly approval_id: string;
  readonly url: string;
}

/** How approvals, sealed states and credentials look. */
export const secretForms = [/apr_[0-9a-f-]{36}/, /v1\.[\w-]{40,}\.[\w-]{40,}/, /tg[a-z]_[0-9A-Za-z]{20}/];

/** To be called once in a file of tests; after the last of them the books are audited and the log searched for secrets. */
export async function useApprovals() {
  const gateway = await openTestGateway({ config });
  const account = useFreshAccount(gateway, { creditUsd });
  const mcp = `${gateway.url}/mcp`;
  afterAll(async () => {
    expect(await gateway.audit()).toEqual([]);
    for (const form of secretForms) expect(gateway.logged.join("\n")).not.toMatch(form);
    await gateway.close();
  });

  const spent = async (): Promise<number> => 5_000_000 - (await gateway.balance(account)).balance;

  /** Asks without being able to show anything: an address comes back. */
  const askElsewhere = async (given: object = dear(), name = "use"): Promise<Handle> => {
    const { structuredContent } = await useTool(mcp, account.key, name, given);
    return structuredContent["approval"] as Handle;
  };

  const decide = async (url: string, action: "approve" | "deny"): Promise<void> => {
    const person = createPerson(gateway.url, account.key);
    let page = await person.open(url);
    if (page.html.includes('name="key"'))
      page = await person.submit(page, { action: "sign_in", key: account.key });
    await person.submit(page, { action });
  };

  /** Asks with a form: the question and the sealed state come back. */
  const askInForm = async (
    given: object = dear(),
    name = "use",
  ): Promise<{ state: string; message: string }> => {
    const asked = await useTool(mcp, account.key, name, given, canAsk);
    expect(asked.resultType).toBe("input_required");
    const { params } = asked.inputRequests?.["approval"] ?? {};
    return { state: asked.requestState ?? "", message: (params as { message?: string })?.message ?? "" };
  };

  const answerForm = (
    given: object,
    state: string,
    inputResponses: object = yes,
    name = "use",
  ): Promise<ToolResult> =>
    useTool(mcp, account.key, name, given, { ...canAsk, round: { requestState: state, inputResponses } });

  return { gateway, account, mcp, spent, askElsewhere, decide, askInForm, answerForm };
}
