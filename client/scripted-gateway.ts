// A stand-in for the gateway that says what a test tells it to, over real HTTP, and a clock that only counts.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, type Client } from "./src/client.ts";
import { TollgateError } from "./src/errors.ts";
import { readWhole, sendCall } from "./src/send-call.ts";
import type { OutgoingCall, Transport } from "./src/transport.ts";

/**
 * One answer of the script. `"cut"` breaks the connection in the middle of an answer, `"gone"` before it, and `"never"`
 * does not answer at all.
 */
export type Scripted =
  | "cut"
  | "gone"
  | "never"
  | {
      readonly status: number;
      /** Text is sent as it is, anything else as JSON. */
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    };

interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface ScriptedGateway {
  readonly transport: Transport;
  /** Calls in the order in which they came, without look-ups. */
  readonly calls: SeenRequest[];
  readonly lookUps: SeenRequest[];
  readonly waitsMs: number[];
  /** Breaks every connection there is. */
  readonly cutAll: () => void;
  readonly close: () => Promise<void>;
}

export interface Script {
  /** Answers to the call itself, one after the other; the last one repeats. */
  readonly answers: readonly Scripted[];
  /** What the books say when asked; nothing is found without it. The last one repeats. */
  readonly receipts?: readonly unknown[];
  readonly random?: () => number;
}

export async function openScriptedGateway(script: Script): Promise<ScriptedGateway> {
  const { answers, receipts = [], random = () => 0.5 } = script;
  const calls: SeenRequest[] = [];
  const lookUps: SeenRequest[] = [];
  const waitsMs: number[] = [];
  const server = createServer((request, response) => {
    readRequest(request)
      .then((seen) => {
        if (seen.path.startsWith("/v1/requests")) {
          lookUps.push(seen);
          const receipt = receipts[Math.min(lookUps.length, receipts.length) - 1];
          return answer(response, receipt === "gone" ? "gone" : lookedUp(seen.path, receipt), "req_look_up");
        }
        calls.push(seen);
        const next = answers[Math.min(calls.length, answers.length) - 1] ?? { status: 500 };
        return answer(response, next, `req_${calls.length}`);
      })
      .catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A TCP server that listens has a port.
  const { port } = server.address() as AddressInfo;
  let nowMs = 0;
  return {
    calls,
    lookUps,
    waitsMs,
    transport: {
      baseUrl: `http://127.0.0.1:${port}`,
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
    cutAll: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const key = request.headers["idempotency-key"];
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    idempotencyKey: typeof key === "string" ? key : undefined,
    headers: request.headers,
    body: Buffer.concat(chunks).toString(),
  };
}

function answer(response: ServerResponse, next: Scripted, requestId: string): void {
  if (next === "never") return;
  if (next === "gone") {
    response.socket?.destroy();
    return;
  }
  if (next === "cut") {
    // Promises more than it sends, so the client sees the connection end in the middle of the answer.
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": "1000",
      "x-request-id": requestId,
    });
    response.write('{"half', () => response.socket?.destroy());
    return;
  }
  const { status, body = {}, headers } = next;
  response.writeHead(status, {
    "content-type": "application/json",
    "x-request-id": requestId,
    ...headers,
  });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  // Less than was promised is sent, and the rest is waited for.
  if (headers?.["content-length"] !== undefined) response.write(text);
  else response.end(text);
}

/** A read of one call answers with the receipt itself, a search by key with a list of one or none. */
function lookedUp(path: string, receipt: unknown): Scripted {
  if (!path.startsWith("/v1/requests/"))
    return { status: 200, body: { object: "list", data: receipt ? [receipt] : [] } };
  return receipt
    ? { status: 200, body: receipt }
    : { status: 404, body: { error: "no such request", code: "request_not_found" } };
}

export const billedPost = (key: string): OutgoingCall => ({
  method: "POST",
  path: "/v1/rerank",
  body: '{"query":"a","documents":["b"]}',
  headers: {},
  billed: true,
  idempotencyKey: key,
  signal: new AbortController().signal,
});

export const billedGet: OutgoingCall = {
  method: "GET",
  path: "/apis/v1/financial/financial-metrics/snapshot?ticker=A",
  headers: {},
  billed: true,
  idempotencyKey: undefined,
  signal: new AbortController().signal,
};

export const freeGet: OutgoingCall = { ...billedGet, path: "/v1/credits/balance", billed: false };

export const fine: Scripted = {
  status: 200,
  body: { ok: true },
  headers: { "x-tollgate-cost-micros-usd": "5" },
};

export const refused = (status: number, code: string, more: object = {}): Scripted => ({
  status,
  body: { error: { code, message: code, ...more }, request_id: "req_1" },
});

export const receipt = (status: string, charged: number, outcome = "unknown") => ({
  request_id: "req_1",
  status,
  outcome,
  charged_micros_usd: charged,
});

/** Sends the call as a client would, and tells how that ended. */
export async function endOf(call: OutgoingCall, transport: Transport): Promise<TollgateError | "answered"> {
  try {
    await sendCall(call, transport, readWhole);
    return "answered";
  } catch (error) {
    if (!(error instanceof TollgateError)) throw error;
    return error;
  }
}

export function clientOf({ transport }: ScriptedGateway): Client {
  const { baseUrl, apiKey, fetch, clock, random, attemptTimeoutMs } = transport;
  return createClient({ baseUrl: `${baseUrl}/`, apiKey, fetch, clock, random, attemptTimeoutMs });
}

export const errorOf = (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => "answered",
    (error: unknown) => error,
  );
