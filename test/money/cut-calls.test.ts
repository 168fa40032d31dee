// Calls that a stop does not wait for any longer: their ends are in the books before the process is gone.

import { expect, test } from "bun:test";
import type { Receipt } from "../../client/src/operations.ts";
import { drain } from "../../gateway/src/host/drain.ts";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import { createLog } from "../../gateway/src/platform/log.ts";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../../gateway/src/upstreams/http/http-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { useAskedStreams } from "../streams/asked-streams.ts";
import { dialects } from "../streams/dialects.ts";
import { lastReceipt, models } from "../streams/model-vendors.ts";
import { openStreamCaller } from "../streams/stream-caller.ts";

const { vendors, watch, open } = await useAskedStreams();

test("a stream that is cut off is charged for what passed, and its receipt says how it ended", async () => {
  const { gateway, stop } = await openStoppable();
  const account = await gateway.openAccount();
  const caller = open(gateway, account, { script: { fault: "endless", everyMs: 20 } });
  await caller.untilFrames(4);
  await stop();
  const receipt = await lastReceipt(gateway, account);
  expectPaidInPart(receipt, "gateway_stopped");
  expect(receipt.explanation).toStartWith("The gateway stopped while this call was streaming;");
  expect(await gateway.balance(account)).toMatchObject({ held: 0 });
  await caller.ended;
  expect(caller.body()).toContain("The gateway stopped before the end of the answer.");
  expect(caller.body()).not.toContain("broke off");
});

test.each([
  ["anthropic", "anthropic"],
  ["gemini", "gemini"],
  ["anthropic", "openai"],
  ["openai", "gemini"],
] as const)("its caller is told so, who speaks the dialect %s to a vendor of %s", async (spoken, vendor) => {
  const { gateway, stop } = await openStoppable();
  const account = await gateway.openAccount();
  const caller = open(gateway, account, { spoken, vendor, script: { fault: "endless", everyMs: 20 } });
  await caller.untilFrames(4);
  await stop();
  await caller.ended;
  expect(caller.body()).toContain("The gateway stopped before the end of the answer.");
});

test("so is who reads a response", async () => {
  const { gateway, stop } = await openStoppable();
  const account = await gateway.openAccount();
  vendors.doubles.openai.answerNext({ kind: "stream", fault: "endless", everyMs: 20 });
  const body = { model: models.openai, input: "Go on, please.", stream: true };
  const caller = openStreamCaller(gateway.port, { account, path: "/v1/responses", body });
  await caller.untilFrames(4);
  await stop();
  await caller.ended;
  expect(caller.body()).toContain("The gateway stopped before the end of the answer.");
});

test("one that is read on for a caller who left is charged for what passed, too", async () => {
  const { gateway, stop } = await openStoppable();
  const account = await gateway.openAccount();
  const caller = open(gateway, account, { script: { fault: "endless", everyMs: 20 } });
  await caller.untilFrames(4);
  caller.leave();
  await until(() => gateway.listener.openRequests() === 0, 5_000);
  expect(gateway.gateway.callsInFlight()).toBe(1);
  await stop();
  expectPaidInPart(await lastReceipt(gateway, account), "caller_left");
  expect(await gateway.balance(account)).toMatchObject({ held: 0 });
});

test("a stream that came whole is charged in full, though its caller has not read it", async () => {
  const { gateway, stop } = await openStoppable();
  const account = await gateway.openAccount({ creditUsd: "1000" });
  // More than the kernel keeps for a caller, in one event: so it is here with its end before any of it can leave.
  vendors.script.reply = { text: "word".repeat(4 * 1024 * 1024) };
  const caller = open(gateway, account, { script: { segments: "together" } });
  caller.pause();
  await until(() => vendors.doubles.openai.book.at(-1)?.stream?.whole === true, 5_000);
  await Bun.sleep(1_000);
  vendors.script.reply = { text: "Yes." };
  expect(gateway.listener.openRequests()).toBe(1);
  await stop();
  expect(await gateway.balance(account)).toMatchObject({ held: 0 });
  const receipt = await lastReceipt(gateway, account);
  expect(receipt).toMatchObject({ status: "settled", usage_source: "provider", attempts: [{}] });
  caller.leave();
});

test("a call that its upstream does not answer is in doubt, and not said to be its fault: not charged, and never sent again", async () => {
  const { gateway, stop } = await openStoppable();
  const account = await gateway.openAccount();
  vendors.doubles.openai.answerNext({ kind: "hang" });
  const before = vendors.doubles.openai.requests.length;
  const asking = ask(gateway, account);
  await until(() => vendors.doubles.openai.requests.length > before, 5_000);
  await stop();
  const answer = await asking;
  expect(answer.status).toBe(502);
  expect(answer.headers.get("x-should-retry")).toBe("false");
  expect(await answer.text()).toContain("The gateway is stopping; the provider's answer was not waited for.");
  const receipt = await lastReceipt(gateway, account);
  expect(receipt).toMatchObject({ status: "released", outcome: "unknown", charged_micros_usd: 0 });
  expect(receipt.attempts).toMatchObject([{ upstream: "openai", outcome: "gateway_stopped" }]);
  expect(receipt.explanation).toStartWith("The gateway stopped before an answer had come,");
  expect(await gateway.balance(account)).toMatchObject({ held: 0 });

  // Nothing leaves any more: what comes too late costs nothing.
  const late = await ask(gateway, account);
  expect(late.status).toBe(502);
  expect(await late.text()).toContain("The gateway is stopping; nothing was sent to the provider.");
  expect(vendors.doubles.openai.requests.length).toBe(before + 1);
  expect(await lastReceipt(gateway, account)).toMatchObject({
    outcome: "failed",
    attempts: [{ outcome: "gateway_stopped" }],
  });
});

/** A gateway whose stop waits for a moment only. */
async function openStoppable() {
  const client = createHttpClient();
  const gateway = await openTestGateway({
    config: vendors.config({ more: "sandbox: off" }),
    parts: { forwarder: createForwarder(client, protocols) },
  });
  watch(gateway);
  const stop = (): Promise<void> =>
    drain({
      callsInFlight: gateway.gateway.callsInFlight,
      openRequests: gateway.listener.openRequests,
      leaveUpstreams: client.giveUp,
      cutAnswers: gateway.listener.cut,
      closed: Promise.resolve(),
      clock: systemClock,
      log: createLog({ level: "silent", nowMs: systemClock.wallMs, write: () => {} }),
      patienceMs: 100,
    });
  return { gateway, stop };
}

const ask = (gateway: TestGateway, account: TestAccount): Promise<Response> =>
  gateway.post(
    account,
    dialects.openai.path(models.openai, false),
    dialects.openai.body({ turns: [{ user: "Go on, please." }] }, models.openai, false),
  );

function expectPaidInPart(receipt: Receipt, outcome: string): void {
  expect(receipt).toMatchObject({ status: "settled", attempts: [{ upstream: "openai", outcome }] });
  expect(receipt.charged_micros_usd).toBeGreaterThan(0);
  expect(receipt.usage["output_tokens"]).toBeGreaterThan(0);
}
