// A person's yes to a call for which its vendor then did nothing.

import { expect, test } from "bun:test";
import { snapshotMicros } from "../support/purchases.ts";
import { errorOf, useTool } from "./agent-client.ts";
import { dear, useApprovals } from "./approvals.ts";

const { gateway, account, mcp, spent, askElsewhere, decide } = await useApprovals();

test("an approval outlives a call that its vendor turned away, and then buys once", async () => {
  const { approval_id, url } = await askElsewhere();
  await decide(url, "approve");
  const use = () => useTool(mcp, account.key, "use", { ...dear(), approval_id });
  await gateway.sandbox.fault({ vendor: "financialdatasets", status: 429, headers: { "retry-after": "0" } });
  expect(errorOf(await use())).toMatchObject({ retryable: true, charged: "no" });
  const again = await use();
  expect(again.structuredContent).toMatchObject({ status: "completed", settled_micros_usd: snapshotMicros });
  expect(errorOf(await use())).toMatchObject({ code: "approval_required" });
  expect(await spent()).toBe(snapshotMicros);
});

test("an approval is used up by a call that may have reached its vendor", async () => {
  const { approval_id, url } = await askElsewhere();
  await decide(url, "approve");
  const use = () => useTool(mcp, account.key, "use", { ...dear(), approval_id });
  await gateway.sandbox.fault({ vendor: "financialdatasets", mode: "close" });
  expect((await use()).isError).toBe(true);
  expect(errorOf(await use())).toMatchObject({ code: "approval_required" });
});
