// A process that dies in the middle of a stream leaves what it had noted: that is soon, and often enough, and not too often.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Quantities } from "../../gateway/src/prices/quantities.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

let events: readonly object[];
let vendor: Bun.Server<undefined>;
let gateway: TestGateway;
let account: TestAccount;
/** The tokens of output in each note, in order. */
let noted: number[] = [];

beforeAll(async () => {
  vendor = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => said(events) });
  gateway = await openTestGateway({
    config: `
sandbox: off
upstreams:
  openai: { protocol: openai, url: "${vendor.url.origin}", key: "sk-operator-openai-000000000000" }
  gemini: { protocol: gemini, url: "${vendor.url.origin}", key: "goog-operator-00000000000000000" }
models:
  talker: { via: [openai], price: { input: 2, output: 10 }, max_output_tokens: 2000000, context_tokens: 4000000 }
  painter: { via: [gemini], price: { input: 1, output: 2 }, max_output_tokens: 10000 }
`,
    wrap: (parts) => {
      const { ledger } = parts.store;
      const noteProgress = (callId: string, used: Quantities): void => {
        noted.push(used["output_tokens"] ?? 0);
        ledger.noteProgress(callId, used);
      };
      return { ...parts, store: { ...parts.store, ledger: { ...ledger, noteProgress } } };
    },
  });
  account = await gateway.openAccount({ tier: "enterprise", creditUsd: "1000" });
});

beforeEach(() => {
  noted = [];
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  await gateway.close();
  await vendor.stop(true);
});

/** Each event comes when the caller has the one before. */
function said(all: readonly object[]): Response {
  const left = all.values();
  const body = new ReadableStream({
    pull: async (stream) => {
      const { value } = left.next();
      if (value === undefined) return stream.close();
      hasRead = Promise.withResolvers();
      stream.enqueue(Buffer.from(`data: ${JSON.stringify(value)}\n\n`));
      await hasRead.promise;
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

let hasRead = Promise.withResolvers<void>();

async function read(path: string, asked: object): Promise<void> {
  const response = await gateway.post(account, path, asked);
  for await (const _piece of response.body ?? []) hasRead.resolve();
}

const delta = (content: string) => ({
  id: "c",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
});
const pieces = (count: number, bytes: number) =>
  Array.from({ length: count }, () => delta("w".repeat(bytes)));

const readAll = async (...saying: readonly object[]): Promise<void> => {
  events = saying;
  const messages = [{ role: "user", content: "Tell me." }];
  await read("/v1/chat/completions", { model: "talker", stream: true, messages });
};

test("the first words of a stream are noted at once, and no more of one that says little", async () => {
  await readAll(...pieces(100, 8));
  expect(noted).toEqual([2]);
});

test("about a thousand tokens later it is noted again", async () => {
  await readAll(...pieces(160, 200));
  expect(noted).toHaveLength(8);
  for (const [at, tokens] of noted.slice(1).entries())
    expect(tokens - (noted[at] ?? 0)).toBeWithin(1_000, 1_051);
});

test("a stream that says millions of words in a moment is noted a few dozen times, within an eighth of what it said", async () => {
  await readAll(...pieces(400, 10_000));
  expect(noted.length).toBeLessThan(60);
  expect(noted.at(-1)).toBeGreaterThan((((399 * 10_000) / 4) * 8) / 9);
});

test("an image is noted when it comes", async () => {
  const inlineData = { mimeType: "image/png", data: "iVBORw0KGgo=" };
  events = [{ candidates: [{ content: { role: "model", parts: [{ inlineData }] } }] }];
  await read("/v1beta/models/painter:streamGenerateContent?alt=sse", {
    contents: [{ role: "user", parts: [{ text: "A fox" }] }],
  });
  expect(noted).toHaveLength(1);
});

test("a stream that says nothing has nothing to note", async () => {
  await readAll(delta(""), delta(""));
  expect(noted).toEqual([]);
});
