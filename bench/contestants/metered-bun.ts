// The least a gateway on Bun can be that charges: the bare proxy, and what nobody who charges for calls can leave out. It
// looks keys up, counts requests, checks what it was sent by hand, holds the most a call can cost, forwards, reads what was
// used, and settles. It has no dialects, no routes, no idempotency keys, no receipts, no streams: the distance to the bare
// proxy is what durable money costs on this machine, the distance to Tollgate what everything else does.
// Run as a program it is the proxy; imported it is the contestant.

import { join } from "node:path";
import { openBunProcess } from "../rig/bun-process.ts";
import type { Contestant } from "../rig/contestant.ts";
import { findFreePort } from "../../test/support/free-port.ts";
import { databaseHome } from "../rig/disk.ts";
import { openTemporaryFolder } from "../rig/leftovers.ts";
import { openBooks, type Books } from "./metered-bun-books.ts";

const keys = Array.from({ length: 100 }, (_, number) => `tgk_${String(number).padStart(34, "0")}`);

export const meteredBun: Contestant = {
  name: "metered Bun proxy",
  // It knows the JSON chat call only.
  sitsOut: ["streams", "open-streams", "rerank", "reseller"],
  open: async (upstream) => {
    const folder = openTemporaryFolder("metered", databaseHome);
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const environment = {
      PORT: String(port),
      UPSTREAM: `http://127.0.0.1:${upstream.port}`,
      DATABASE: join(folder.path, "metered.db"),
    };
    const running = await openBunProcess([import.meta.path], environment, url);
    const close = async (): Promise<void> => {
      await running.close();
      folder.remove();
    };
    return { url, pid: running.pid, keys, compiles: true, close };
  },
};

if (import.meta.main) {
  const upstream = process.env["UPSTREAM"] ?? "";
  const books = openBooks(process.env["DATABASE"] ?? "", keys.length);
  const accounts = new Map(keys.map((key, account) => [`Bearer ${key}`, account]));
  const countOf = createCounter();
  Bun.serve({
    hostname: "127.0.0.1",
    port: Number(process.env["PORT"]),
    idleTimeout: 60,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/") return new Response("ready");
      const account = accounts.get(request.headers.get("authorization") ?? "");
      if (account === undefined) return new Response(null, { status: 401 });
      const count = countOf(account, Date.now());
      if (count > requestsPerSecondMax) return new Response(null, { status: 429 });
      return serve(request, { url: upstream + pathname, account, count, books });
    },
  });
}

interface Work {
  readonly url: string;
  readonly account: number;
  readonly count: number;
  readonly books: Books;
}

async function serve(request: Request, { url, account, count, books }: Work): Promise<Response> {
  const text = await request.text();
  const asked: unknown = JSON.parse(text);
  if (!isChat(asked)) return new Response(null, { status: 400 });
  const callId = Bun.randomUUIDv7();
  const heldMicros = costMicros(text.length, asked.max_tokens ?? 4096);
  const isHeld = await books.hold({ callId, account, model: asked.model, heldMicros, atMs: Date.now() });
  if (!isHeld) return new Response(null, { status: 402 });

  const headers = {
    "content-type": "application/json",
    authorization: "Bearer sk-upstream",
    "x-request-id": callId,
  };
  const response = await fetch(url, { method: "POST", headers, body: text });
  const answer = await response.text();
  // This upstream is ours, and states what was used.
  const { usage } = JSON.parse(answer) as { usage: { prompt_tokens: number; completion_tokens: number } };
  const [input, output] = [usage.prompt_tokens, usage.completion_tokens];
  const chargedMicros = costMicros(input, output);
  await books.settle({ callId, account, heldMicros, chargedMicros, input, output, atMs: Date.now() });
  return new Response(answer, {
    status: response.status,
    headers: answerHeaders(callId, count, chargedMicros),
  });
}

const requestsPerSecondMax = 1_000_000_000;

/** Counts the requests of each account in the second that runs. */
function createCounter(): (account: number, nowMs: number) => number {
  let second = 0;
  const counts = new Map<number, number>();
  return (account, nowMs) => {
    const now = Math.floor(nowMs / 1_000);
    if (now !== second) counts.clear();
    second = now;
    const count = (counts.get(account) ?? 0) + 1;
    counts.set(account, count);
    return count;
  };
}

interface Chat {
  readonly model: string;
  readonly max_tokens?: number;
}

function isChat(body: unknown): body is Chat {
  if (typeof body !== "object" || body === null || !("model" in body) || !("messages" in body)) return false;
  if ("max_tokens" in body && typeof body.max_tokens !== "number") return false;
  return typeof body.model === "string" && Array.isArray(body.messages) && body.messages.every(isMessage);
}

const isMessage = (message: unknown): boolean =>
  typeof message === "object" &&
  message !== null &&
  "role" in message &&
  typeof message.role === "string" &&
  "content" in message &&
  typeof message.content === "string";

/** At 2.5 and 10 USD for a million tokens, as Tollgate is told to charge. */
const costMicros = (input: number, output: number): number => Math.ceil((input * 25 + output * 100) / 10);

const answerHeaders = (callId: string, count: number, chargedMicros: number): Record<string, string> => ({
  "content-type": "application/json",
  "x-request-id": callId,
  "x-cost-micros-usd": String(chargedMicros),
  "x-ratelimit-limit-requests": String(requestsPerSecondMax),
  "x-ratelimit-remaining-requests": String(requestsPerSecondMax - count),
  "x-ratelimit-reset-requests": "1s",
  "x-ratelimit-limit-tokens": String(requestsPerSecondMax),
  "x-ratelimit-remaining-tokens": String(requestsPerSecondMax),
});
