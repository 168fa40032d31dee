// A vendor that answers what a test says next, in whatever form, and a gateway that has no other.

import { afterAll, expect } from "bun:test";
import type { Receipt } from "../../client/src/operations.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./test-gateway.ts";

interface ScriptedVendor {
  readonly url: string;
  /** What it was asked, in order. */
  readonly asked: readonly Asked[];
  /** What it answers from now on. */
  answer: (asked: Asked) => Response;
}

interface Asked {
  readonly url: string;
  readonly body: string;
}

interface ScriptedCalls {
  readonly vendor: ScriptedVendor;
  readonly gateway: TestGateway;
  readonly account: TestAccount;
  /** Only when the answer of the call has ended. */
  readonly receiptOf: (response: Response) => Promise<Receipt>;
}

/** To be called once in a file of tests; the books are audited after it. */
export async function useScriptedVendor(
  configFor: (url: string) => string,
  options: Parameters<TestGateway["openAccount"]>[0] = {},
): Promise<ScriptedCalls> {
  const { vendor, close } = openScriptedVendor();
  const gateway = await openTestGateway({ config: configFor(vendor.url) });
  const account = await gateway.openAccount(options);

  afterAll(async () => {
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
    await close();
  });

  return {
    vendor,
    gateway,
    account,
    receiptOf: async (response) => {
      await response.text();
      return gateway.receipt(account, response);
    },
  };
}

function openScriptedVendor(): { readonly vendor: ScriptedVendor; readonly close: () => Promise<void> } {
  const asked: Asked[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const latest = { url: request.url, body: await request.text() };
      asked.push(latest);
      return vendor.answer(latest);
    },
  });
  const vendor: ScriptedVendor = {
    url: server.url.origin,
    asked,
    answer: () => new Response("The test said nothing.", { status: 500 }),
  };
  return { vendor, close: () => server.stop(true) };
}

export const eventStream = (events: string | ReadableStream): Response =>
  new Response(events, { headers: { "content-type": "text/event-stream" } });

export const asEvents = (events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
