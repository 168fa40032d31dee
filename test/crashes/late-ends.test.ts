// Calls whose end the store does not take at first: their receipts are written later, and tell what happened.

import { expect, test } from "bun:test";
import { StoreBusy } from "../../gateway/src/ledger/store-errors.ts";
import type { Store } from "../../gateway/src/store/store.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { create, stuck, video } from "../tasks/task-caller.ts";

const busy = () => Promise.reject(new StoreBusy());

test("the receipt of an answer that could not be booked says that it came, from whom, and that it is not charged", async () => {
  const tollgate = await openTestGateway({ wrap: withLedger((ledger) => ({ ...ledger, settle: busy })) });
  try {
    const account = await tollgate.openAccount();
    const response = await tollgate.call(account, snapshotPath);
    expect(response.status).toBe(503);
    await until(async () => (await tollgate.receipt(account, response)).status === "released");
    const receipt = await tollgate.receipt(account, response);
    expect(receipt).toMatchObject({
      outcome: "unknown",
      http_status: 200,
      charged_micros_usd: 0,
      attempts: [{ outcome: "answered", status: 200 }],
    });
    expect(receipt.explanation).toStartWith(
      "The upstream answered, but the end of the call could not be booked",
    );
  } finally {
    await tollgate.close();
  }
});

test("the receipt of a call that no upstream took names whom it was tried with", async () => {
  const vendor = await openOpenAiDouble({ key: "k-0123456789" });
  await vendor.close();
  let releases = 0;
  const tollgate = await openTestGateway({
    config: `
sandbox: off
upstreams: { away: { protocol: openai, url: "${vendor.url}", key: k-0123456789 } }
models: { gpt-x: { via: [away], price: { input: 1, output: 1 }, max_output_tokens: 9 } }
`,
    wrap: withLedger((ledger) => ({
      ...ledger,
      release: (ending) => (releases++ === 0 ? busy() : ledger.release(ending)),
    })),
  });
  try {
    const account = await tollgate.openAccount();
    const body = { model: "gpt-x", messages: [{ role: "user", content: "hi" }] };
    const response = await tollgate.post(account, "/v1/chat/completions", body);
    expect(response.status).toBe(503);
    await until(async () => (await tollgate.receipt(account, response)).status === "released");
    expect(await tollgate.receipt(account, response)).toMatchObject({
      outcome: "failed",
      http_status: null,
      attempts: [{ upstream: "away", outcome: "unreachable", status: null }],
    });
  } finally {
    await tollgate.close();
  }
});

test("a lost task that the store does not take is told with the reason, and written later", async () => {
  let losses = 0;
  const tollgate = await openTestGateway({
    wrap: (parts) => {
      const { tasks } = parts.store;
      const lose: typeof tasks.lose = (...lost) => (losses++ < 2 ? busy() : tasks.lose(...lost));
      return { ...parts, store: { ...parts.store, tasks: { ...tasks, lose } } };
    },
  });
  try {
    await tollgate.sandbox.fault({ vendor: "dashscope", path_contains: "/video-synthesis", mode: "close" });
    const account = await tollgate.openAccount();
    const response = await create(tollgate, account, video(stuck));
    expect(response.status).toBe(502);
    const toldOf = (event: string) =>
      tollgate.logged
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
        .filter((line) => line["event"] === event);
    expect(toldOf("a lost task could not be written")).toMatchObject([
      {
        request_id: response.headers.get("x-request-id"),
        error: expect.stringContaining("StoreBusy") as unknown,
      },
    ]);
    await until(async () => (await tollgate.receipt(account, response)).status === "unknown");
    const still = toldOf("a lost task still cannot be written");
    expect(still).toMatchObject([{ task_id: expect.any(String) as unknown }]);
  } finally {
    await tollgate.close();
  }
});

type Ledger = Store["ledger"];

const withLedger =
  (change: (ledger: Ledger) => Ledger) =>
  <Parts extends { readonly store: Store }>(parts: Parts): Parts => ({
    ...parts,
    store: { ...parts.store, ledger: change(parts.store.ledger) },
  });
