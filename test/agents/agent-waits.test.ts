// What waits in the memory of the gateway until a person has answered: requests of clients of the older revisions.

import { expect, test } from "bun:test";
import { openOldClient, type OldClient, type ToolResult } from "./agent-client.ts";
import { creditUsd, dear, useApprovals, type Handle } from "./approvals.ts";
import { snapshotMicros } from "../support/purchases.ts";

const { gateway, account, mcp, spent } = await useApprovals();

/** As much as fits into a message beside the call itself. */
const bulk = "x".repeat(4_000_000);

test("requests that wait for a person take a bounded room of memory: beyond it the next one gets an address, until another has ended", async () => {
  await account.reopen({ creditUsd, tier: "enterprise" });
  const old = await openOldClient(mcp, account.key, { elicitation: {} });
  for (const id of [1, 2, 3, 4]) expect(await begin(old, id)).toHaveProperty("method", "elicitation/create");

  const { structuredContent } = resultOf(await begin(old, 5));
  expect(structuredContent).toMatchObject({ status: "approval_required", error: { charged: "no" } });
  expect((structuredContent["approval"] as Handle).url).toContain("/oauth/approvals/");

  const stranger = await gateway.openAccount({ creditUsd });
  const theirs = await openOldClient(mcp, stranger.key, { elicitation: {} });
  expect(await begin(theirs, 1, "")).toHaveProperty("method", "elicitation/create");

  await old.open({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
  const asked = await begin(old, 6);
  expect(asked).toHaveProperty("method", "elicitation/create");
  expect(await spent()).toBe(0);
  await old.open({ jsonrpc: "2.0", id: asked.id, result: { action: "accept", content: { approve: true } } });
  expect(await asked.answer()).toContain('"status":"completed"');
  expect(await spent()).toBe(snapshotMicros);
}, 20_000);

test("a client is not invited to tell of progress, which would prolong how long its person is waited for", async () => {
  const old = await openOldClient(mcp, account.key, { elicitation: {} });
  const { params } = await begin(old, 1, "");
  expect(params).toHaveProperty("message");
  expect(params?.["_meta"]).toBeUndefined();
});

interface FirstMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: ToolResult;
  /** All that comes, to the end. */
  readonly answer: () => Promise<string>;
}

/** Lets a client begin a dear call with a long message; answers with what comes first. */
async function begin(old: OldClient, id: number, junk = bulk): Promise<FirstMessage> {
  const params = { name: "use", arguments: dear(`T${id}`), _meta: { junk } };
  const { body } = await old.open({ jsonrpc: "2.0", id, method: "tools/call", params });
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  const readUntil = async (isEnough: () => boolean): Promise<void> => {
    for (let one = await reader.read(); !one.done; one = await reader.read()) {
      text += new TextDecoder().decode(one.value);
      if (isEnough()) return;
    }
  };
  await readUntil(() => text.includes("\n\n"));
  const data = text.split("\n").find((line) => line.startsWith("data: ")) ?? "";
  const answer = async (): Promise<string> => {
    await readUntil(() => false);
    return text;
  };
  return { ...(JSON.parse(data.slice("data: ".length)) as object), answer };
}

function resultOf({ result }: FirstMessage): ToolResult {
  if (!result) throw new Error("The request was not answered.");
  return result;
}
