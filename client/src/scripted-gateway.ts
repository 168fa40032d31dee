// A stand-in for the gateway that says what a test tells it to, over real HTTP, and a clock that only counts.

import type { OutgoingCall, Transport } from "./transport.ts";

/** One answer of the script; `"cut"` closes the connection without one. */
export type Scripted =
  | "cut"
  | {
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    };

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | null;
  readonly body: string;
}

export interface ScriptedGateway {
  readonly transport: Transport;
  /** Calls in the order in which they came, without look-ups. */
  readonly calls: SeenRequest[];
  readonly lookUps: SeenRequest[];
  readonly waitsMs: number[];
  readonly close: () => Promise<void>;
}

export interface Script {
  /** Answers to the call itself, one after the other; the last one repeats. */
  readonly answers: readonly Scripted[];
  /** What the books say when asked; nothing is found without it. The last one repeats. */
  readonly receipts?: readonly unknown[];
  readonly random?: () => number;
}

export function openScriptedGateway({ answers, receipts = [], random = () => 0.5 }: Script): ScriptedGateway {
  const calls: SeenRequest[] = [];
  const lookUps: SeenRequest[] = [];
  const waitsMs: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const url = new URL(request.url);
      const seen = {
        method: request.method,
        path: url.pathname + url.search,
        idempotencyKey: request.headers.get("idempotency-key"),
        body: await request.text(),
      };
      if (url.pathname.startsWith("/v1/requests")) {
        lookUps.push(seen);
        return answerLookUp(url, receipts[Math.min(lookUps.length, receipts.length) - 1]);
      }
      calls.push(seen);
      const answer = answers[Math.min(calls.length, answers.length) - 1] ?? { status: 500 };
      if (answer === "cut") return cutOff();
      return Response.json(answer.body ?? {}, {
        status: answer.status,
        headers: { "x-request-id": `req_${calls.length}`, ...answer.headers },
      });
    },
  });
  let nowMs = 0;
  return {
    calls,
    lookUps,
    waitsMs,
    transport: {
      baseUrl: `http://127.0.0.1:${server.port}`,
      apiKey: "tgk_test",
      headerWord: "tollgate",
      fetch: (url, init) => fetch(url, { ...init, keepalive: false }),
      clock: {
        nowMs: () => nowMs,
        sleep: async (ms, signal) => {
          signal?.throwIfAborted();
          waitsMs.push(ms);
          nowMs += ms;
        },
      },
      random,
      newKey: () => crypto.randomUUID(),
      attemptsMax: 5,
      attemptTimeoutMs: 5_000,
      waitMaxMs: 60_000,
    },
    close: () => server.stop(true),
  };
}

/** A read of one call answers with the receipt itself, a search by key with a list of one or none. */
function answerLookUp(url: URL, receipt: unknown): Response {
  if (url.pathname === "/v1/requests")
    return Response.json({ object: "list", data: receipt ? [receipt] : [] });
  return receipt ? Response.json(receipt) : Response.json({ code: "request_not_found" }, { status: 404 });
}

/** Promises more than it sends, so the client sees the connection end in the middle of the answer. */
function cutOff(): Response {
  const body = new ReadableStream({
    pull: (controller) => {
      controller.enqueue(new TextEncoder().encode('{"half'));
      controller.error(new Error("cut"));
    },
  });
  return new Response(body, { headers: { "content-type": "application/json", "content-length": "1000" } });
}

export const billedPost = (key: string): OutgoingCall => ({
  method: "POST",
  path: "/v1/rerank",
  body: '{"query":"a","documents":["b"]}',
  headers: {},
  billed: true,
  idempotencyKey: key,
});

export const billedGet: OutgoingCall = {
  method: "GET",
  path: "/apis/v1/financial/financial-metrics/snapshot?ticker=A",
  headers: {},
  billed: true,
  idempotencyKey: undefined,
};

export const freeGet: OutgoingCall = { ...billedGet, path: "/v1/credits/balance", billed: false };
