// What becomes of a stream when code of ours fails on it: the operator hears of it, nobody else is blamed, and money is booked.

import { expect, test } from "bun:test";
import type { Forwarder } from "../../gateway/src/operation/forwarder.ts";
import type { StreamRelay } from "../../gateway/src/operation/stream-relay.ts";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../../gateway/src/upstreams/http/http-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import type { StreamRules } from "../../gateway/src/upstreams/streams/frame-passer.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { hear, untilFree, useAskedStreams } from "./asked-streams.ts";
import { lastReceipt } from "./model-vendors.ts";

const { vendors, watch, open } = await useAskedStreams();

/** A gateway whose rules of OpenAI's streams have a bug. */
async function openWithBug(withBug: (rules: StreamRules) => StreamRules): Promise<TestGateway> {
  const { openai } = protocols;
  const chat = openai?.exchanges.chat;
  const stream = chat?.stream;
  if (!openai || !chat || !stream) throw new Error("OpenAI has no streams.");
  const broken = {
    ...openai,
    exchanges: {
      ...openai.exchanges,
      chat: { ...chat, stream: (...words: Parameters<typeof stream>) => withBug(stream(...words)) },
    },
  };
  const forwarder = createForwarder(createHttpClient(), { ...protocols, openai: broken });
  const gateway = await openTestGateway({
    config: vendors.config({ more: "sandbox: off" }),
    parts: { forwarder },
  });
  watch(gateway);
  return gateway;
}

function fail(): never {
  throw new Error("a bug of ours");
}

const eventsRead = 5;

test("a stream on which our reader fails is told the operator, and not held against its upstream", async () => {
  const gateway = await openWithBug((rules) => {
    let frames = 0;
    const read: StreamRules["read"] = (frame) => (++frames > eventsRead ? fail() : rules.read(frame));
    return { ...rules, alike: false, read };
  });
  const account = await gateway.openAccount();

  // As many as an upstream may fail in a row before it rests.
  for (let calls = 0; calls < 5; calls++) {
    const caller = open(gateway, account);
    expect(await caller.ended).toBe(true);
    expect(hear(caller, "openai").error).toBeDefined();
  }

  const receipt = await lastReceipt(gateway, account);
  expect(receipt).toMatchObject({ status: "settled", outcome: "failed", usage_source: "estimated" });
  const told = gateway.logged.filter((line) => line.includes("a stream could not be read"));
  expect(told).toHaveLength(5);
  expect(told.at(-1)).toContain("a bug of ours");
  expect(told.at(-1)).toContain(receipt.request_id);
  expect(gateway.logged.join("")).not.toContain("an upstream keeps failing");
});

test("a stream whose last words fail ends all the same, and is booked", async () => {
  const gateway = await openWithBug((rules) => ({ ...rules, end: fail }));
  const account = await gateway.openAccount();

  const caller = open(gateway, account);
  expect(await caller.ended).toBe(true);

  expect(await lastReceipt(gateway, account)).toMatchObject({ status: "settled", usage_source: "provider" });
  expect(gateway.logged.join("")).toContain("a bug of ours");
});

test("a stream that cannot be read on when its caller has left is told the operator, let go, and booked", async () => {
  const forwarder = withRelays(createForwarder(createHttpClient(), protocols), (relay) =>
    Object.assign(relay, { resume: fail }),
  );
  const gateway = await openTestGateway({
    config: vendors.config({ more: "sandbox: off" }),
    parts: { forwarder },
  });
  watch(gateway);
  const account = await gateway.openAccount();

  const caller = open(gateway, account, { script: { fault: "stall", afterEvents: eventsRead } });
  await caller.untilFrames(eventsRead);
  caller.leave();
  await untilFree(gateway, account);

  const receipt = await lastReceipt(gateway, account);
  expect(receipt).toMatchObject({ status: "settled", usage_source: "estimated" });
  expect(receipt.charged_micros_usd).toBeGreaterThan(0);
  const told = gateway.logged.filter((line) => line.includes("a left stream could not be read on"));
  expect(told).toHaveLength(1);
  expect(told[0]).toContain("a bug of ours");
  expect(told[0]).toContain(receipt.request_id);
});

/** The same upstreams, whose streams are handed over changed. */
const withRelays = (forwarder: Forwarder, change: (relay: StreamRelay) => StreamRelay): Forwarder => ({
  prepare: (dispatch) => {
    const prepared = forwarder.prepare(dispatch);
    if (prepared.kind !== "ready") return prepared;
    const send: typeof prepared.send = async (actingFor) => {
      const exchanged = await prepared.send(actingFor);
      return exchanged.kind === "streaming"
        ? { ...exchanged, relay: change(partsOf(exchanged.relay)) }
        : exchanged;
    };
    return { ...prepared, send };
  },
});

const partsOf = (relay: StreamRelay): StreamRelay => ({
  start: (taker) => relay.start(taker),
  pause: () => relay.pause(),
  resume: () => relay.resume(),
  get delivered() {
    return relay.delivered;
  },
  read: () => relay.read(),
  get bug() {
    return relay.bug;
  },
  keptIds: () => relay.keptIds(),
  leave: () => relay.leave(),
});
