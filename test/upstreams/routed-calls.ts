// Calls for which there are two upstreams, of each kind, and a gateway that knows both.

import { afterAll, afterEach, beforeEach, expect } from "bun:test";
import { chat, snapshotMicros, snapshotPath } from "../support/purchases.ts";
import type { TestAccount, TestGateway } from "../support/test-gateway.ts";
import { type FinancialDouble, type OpenAiDouble, openTwoUpstreams, callSnapshot } from "./two-upstreams.ts";

export const chatMicros = 8 * 2.5 + 2 * 10;
/** The same, as each of the interfaces of OpenAI's would say it. */
export const usage = {
  prompt_tokens: 8,
  completion_tokens: 2,
  input_tokens: 8,
  output_tokens: 2,
  total_tokens: 10,
};

/**
 * The start of a stream that says nothing yet, and of which its caller is told all the same: no vendor's first word is waited
 * for behind so much.
 */
export const begunStream =
  `: ${"at work ".repeat(256 * 1024)}\n\n` +
  'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n';

type Double = FinancialDouble | OpenAiDouble;

interface Shape {
  readonly what: "GET of data" | "chat" | "chat stream";
  readonly names: readonly [string, string];
  readonly doubles: () => { readonly a: Double; readonly b: Double };
  readonly chargeMicros: number;
  readonly served: "answered" | "streaming";
  readonly send: (account: TestAccount, at: TestGateway) => Promise<Response>;
}

/** To be called once in a file of tests; the upstreams are nobody's acquaintances in each, and the books are audited after it. */
export async function useRoutedCalls() {
  const upstreams = await openTwoUpstreams();
  const { financial, model, open, twoOfEach, draw, meetAnew, close } = upstreams;
  const gateway = await open(twoOfEach(financial.a.url, model.a.url));

  beforeEach(() => {
    meetAnew();
    draw([]);
  });
  afterEach(async () => {
    expect(await gateway.audit()).toEqual([]);
  });
  afterAll(async () => {
    expect(await gateway.sandbox.book()).toEqual([]);
    await gateway.close();
    await close();
  });

  const shapes: readonly Shape[] = [
    {
      what: "GET of data",
      names: ["fd-a", "fd-b"],
      doubles: () => financial,
      chargeMicros: snapshotMicros,
      served: "answered",
      send: (account, at) => at.call(account, snapshotPath),
    },
    {
      what: "chat",
      names: ["oa-a", "oa-b"],
      doubles: () => model,
      chargeMicros: chatMicros,
      served: "answered",
      send: (account, at) => at.post(account, "/v1/chat/completions", chat),
    },
    {
      what: "chat stream",
      names: ["oa-a", "oa-b"],
      doubles: () => model,
      chargeMicros: chatMicros,
      served: "streaming",
      send: (account, at) => at.post(account, "/v1/chat/completions", { ...chat, stream: true }),
    },
  ];

  /** Calls for data, one after the other: the statuses of their answers. */
  const rounds = async (account: TestAccount, count: number, at = gateway): Promise<number[]> => {
    const statuses: number[] = [];
    for (let call = 0; call < count; call++) statuses.push((await callSnapshot(account, at)).status);
    return statuses;
  };
  /** How often each of the two was asked for data. */
  const asked = (): number[] => [financial.a.requests.length, financial.b.requests.length];
  const since = (before: readonly number[]): number[] =>
    asked().map((count, index) => count - (before[index] ?? 0));

  return { ...upstreams, gateway, shapes, rounds, asked, since };
}
