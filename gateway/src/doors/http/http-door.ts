import type { Answer, Call, Known } from "../../call/call.ts";
import { resetSeconds } from "../../call/refuse-by-limit.ts";
import type { Gate } from "../../call/gate.ts";
import { runCall } from "../../call/run-call.ts";
import type { Offer } from "../../offer/offer.ts";
import { describeError } from "../../platform/log.ts";
import { CallRefused, type RefusalCode } from "../../platform/refusals.ts";
import { dialectOf } from "../../platform/dialect.ts";
import { forwardedHeaders } from "./forwarded-headers.ts";
import { presentedKey } from "./presented-key.ts";
import type { BodyReader } from "./read-body.ts";
import { refusalBody } from "./refusal-body.ts";

interface Parts {
  readonly gate: Gate;
  readonly offer: () => Offer;
  readonly bodies: BodyReader;
  readonly newId: () => string;
}

/** Turns HTTP into calls and their ends back into HTTP. Knows headers and shapes; decides nothing about money. */
export interface HttpDoor {
  readonly answer: (request: Request, path: string, rawQuery: string) => Promise<Response>;
  readonly refuse: (refusal: CallRefused, path: string) => Response;
}

export function createHttpDoor({ gate, offer, bodies, newId }: Parts): HttpDoor {
  const respond = (call: Call, answer: Answer, extra: Record<string, string>): Response => {
    const { operationId = "none" } = call.known;
    gate.metrics.count("tollgate_calls_total", { operation: operationId, status: String(answer.status) });
    gate.log.debug("call", { request_id: call.id, operation_id: operationId, status: answer.status });
    return new Response(bodiless.has(answer.status) ? null : answer.body, {
      status: answer.status,
      headers: headersOf(call, answer.contentType, extra),
    });
  };

  const refused = (call: Call, refusal: CallRefused): Response => {
    gate.metrics.count("tollgate_refusals_total", { code: refusal.code });
    const { retryAfterSeconds } = refusal.details;
    const body = refusalBody(refusal, {
      dialect: dialectOf(call.path),
      path: call.path,
      requestId: call.id,
      quoting: call.costMode !== undefined,
      keyPresented: call.presented.kind !== "none",
    });
    const extra: Record<string, string> = {};
    if (retryAfterSeconds !== undefined) extra["retry-after"] = String(retryAfterSeconds);
    if (closing.has(refusal.code)) extra["connection"] = "close";
    return respond(
      call,
      { status: refusal.status, contentType: "application/json", body: JSON.stringify(body) },
      extra,
    );
  };

  const open = (request: Request | undefined, path: string, rawQuery: string): Call => {
    const current = offer();
    const header = (name: string): string | undefined => request?.headers.get(name) ?? undefined;
    return {
      id: newId(),
      method: request?.method ?? "GET",
      path,
      rawQuery,
      presented: request ? presentedKey(request.headers, path) : { kind: "none" },
      costMode: header(current.headers.costMode),
      maxPriceUsd: header(current.headers.maxPriceUsd),
      idempotencyKey: header("idempotency-key"),
      asyncMode: header(current.headers.asyncMode),
      forwarded: request ? forwardedHeaders(request.headers, path) : {},
      offer: current,
      receivedAtMs: gate.clock.wallMs(),
      readBody: (bytesMax) => (request ? bodies.read(request, bytesMax) : Promise.resolve(new Uint8Array())),
      known: { counted: [] },
    };
  };

  return {
    answer: async (request, path, rawQuery) => {
      const call = open(request, path, rawQuery);
      try {
        return respond(call, await runCall(call, gate), {});
      } catch (error) {
        if (error instanceof CallRefused) return refused(call, error);
        gate.log.error("a call failed unexpectedly", { request_id: call.id, path, ...describeError(error) });
        return refused(call, new CallRefused("internal", "internal error"));
      }
    },
    refuse: (refusal, path) => refused(open(undefined, path, ""), refusal),
  };
}

/** The rest of such a request is not worth reading, and must not be taken for the next one. */
const closing: ReadonlySet<RefusalCode> = new Set([
  "request_timeout",
  "payload_too_large",
  "method_not_allowed",
]);

const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

function headersOf(
  call: Call,
  contentType: string | undefined,
  extra: Record<string, string>,
): Record<string, string> {
  const headers: Record<string, string> = { "x-request-id": call.id, ...extra };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (contentType?.startsWith("text/event-stream") === true) {
    headers["cache-control"] = "no-cache";
    headers["x-accel-buffering"] = "no";
  }
  addLimits(headers, call.known, call.receivedAtMs);
  if (call.known.costMicros !== undefined)
    headers[call.offer.headers.costMicrosUsd] = String(call.known.costMicros);
  if (call.known.servedBySandbox === true) headers[call.offer.headers.upstream] = "sandbox";
  return headers;
}

function addLimits(headers: Record<string, string>, { requests, tokens }: Known, nowMs: number): void {
  if (requests) {
    headers["x-ratelimit-limit-requests"] = String(requests.limit);
    headers["x-ratelimit-remaining-requests"] = String(requests.remaining);
    headers["x-ratelimit-reset-requests"] = String(resetSeconds(requests.resetsInMs, nowMs));
  }
  if (tokens) {
    headers["x-ratelimit-limit-tokens"] = String(tokens.limit);
    headers["x-ratelimit-remaining-tokens"] = String(tokens.remaining);
    headers["x-ratelimit-reset-tokens"] = String(resetSeconds(tokens.resetsInMs, nowMs));
  }
}
