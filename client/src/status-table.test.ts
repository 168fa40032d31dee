// Every status × every kind of call × everything the books can say: how often it is sent, how long is waited between,
// under which key, and what the caller is told about money. The double is real HTTP, the clock only counts.

import { afterEach, describe, expect, test } from "bun:test";
import {
  billedGet,
  billedPost,
  freeGet,
  openScriptedGateway,
  type Scripted,
  type ScriptedGateway,
} from "../scripted-gateway.ts";
import { TollgateError, type MoneyMoved } from "./errors.ts";
import { readWhole, sendCall } from "./send-call.ts";
import type { OutgoingCall } from "./transport.ts";

let gateway: ScriptedGateway | undefined;
afterEach(() => gateway?.close());

const attemptsMax = 5;

/** `never`: something must change first. `limit`: wait. `doubt`: it may have happened. */
type Rule = "never" | "limit" | "doubt";

const answers: readonly (readonly [number | "cut" | "gone", string, Rule])[] = [
  [400, "invalid_parameters", "never"],
  [401, "invalid_api_key", "never"],
  [402, "insufficient_balance", "never"],
  [402, "budget_exceeded", "never"],
  [402, "estimated_price_exceeds_max_price", "never"],
  [403, "insufficient_scope", "never"],
  [403, "not_allowed_for_key", "never"],
  [403, "approval_required", "never"],
  [404, "unknown_endpoint", "never"],
  [405, "", "never"],
  [408, "", "doubt"],
  [409, "idempotency_key_reused", "never"],
  [409, "traffic_analytics_idempotency_key_reused", "never"],
  [413, "payload_too_large", "never"],
  [415, "unsupported_media_type", "never"],
  [422, "", "never"],
  [429, "rate_limit_exceeded", "limit"],
  [429, "upstream_rate_limit", "limit"],
  [429, "quota_exceeded", "limit"],
  [431, "headers_too_large", "never"],
  [500, "internal", "doubt"],
  [500, "unsupported_uri", "never"],
  [502, "provider_request_failed", "doubt"],
  [503, "provider_unavailable", "doubt"],
  [503, "billing_dependency_timeout", "doubt"],
  [503, "billing_unavailable", "doubt"],
  [503, "billing_config_invalid", "never"],
  [504, "", "doubt"],
  [529, "", "doubt"],
  ["cut", "", "doubt"],
  ["gone", "", "doubt"],
];

const calls: Readonly<Record<string, OutgoingCall>> = {
  "a billed POST": billedPost("the key"),
  "a billed GET with a key": { ...billedGet, idempotencyKey: "the key" },
  "a billed GET": billedGet,
  "a free GET": freeGet,
  "a free POST": { ...billedPost("the key"), billed: false },
};

type Books = "nothing" | "charged" | "failed" | "unclear";

const receipts: Readonly<Record<Books, unknown>> = {
  nothing: undefined,
  charged: { request_id: "req_1", status: "settled", outcome: "succeeded", charged_micros_usd: 7 },
  failed: { request_id: "req_1", status: "released", outcome: "failed", charged_micros_usd: 0 },
  unclear: { request_id: "req_1", status: "released", outcome: "unknown", charged_micros_usd: 0 },
};

interface Expected {
  readonly attempts: number;
  readonly moneyMoved: MoneyMoved;
}

function expectedOf(answer: number | "cut" | "gone", rule: Rule, call: OutgoingCall, books: Books): Expected {
  if (!call.billed) return { attempts: rule === "never" ? 1 : attemptsMax, moneyMoved: "no" };
  if (rule === "limit") return { attempts: attemptsMax, moneyMoved: "no" };
  const paid = books === "charged" ? "yes" : "no";
  // A refusal is not sent again; whether it cost something is asked all the same, except where it cannot have.
  if (rule === "never") {
    return { attempts: 1, moneyMoved: answer === 401 || answer === 409 ? "no" : paid };
  }
  const keyed = call.idempotencyKey !== undefined;
  if (!keyed && answer === "gone") return { attempts: 1, moneyMoved: "unknown" };
  if (books === "nothing") return { attempts: attemptsMax, moneyMoved: "no" };
  return { attempts: books === "failed" && !keyed ? attemptsMax : 1, moneyMoved: paid };
}

function scripted(answer: number | "cut" | "gone", code: string, retryAfter: string | undefined): Scripted {
  if (typeof answer !== "number") return answer;
  const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  return { status: answer, body: code === "" ? {} : { error: { code, message: code } }, headers };
}

for (const retryAfter of [undefined, "3"]) {
  describe(retryAfter === undefined ? "without Retry-After" : `with Retry-After: ${retryAfter}`, () => {
    for (const [answer, code, rule] of answers) {
      for (const [name, call] of Object.entries(calls)) {
        test(`${answer} ${code} to ${name}`, async () => {
          for (const books of Object.keys(receipts) as Books[]) {
            gateway = await openScriptedGateway({
              answers: [scripted(answer, code, retryAfter)],
              receipts: [receipts[books]],
              random: Math.random,
            });
            const { transport } = gateway;
            const sent = sendCall(call, transport, readWhole);
            const error = await sent.catch((thrown: unknown) => thrown);
            if (!(error instanceof TollgateError)) throw new Error(`not refused: ${String(error)}`);

            const { attempts, moneyMoved } = expectedOf(answer, rule, call, books);
            const { attempts: seen, moneyMoved: told } = error;
            expect([books, seen, told]).toEqual([books, attempts, moneyMoved]);
            expect(gateway.calls).toHaveLength(attempts);
            expect(new Set(gateway.calls.map(({ idempotencyKey }) => idempotencyKey))).toEqual(
              new Set([call.idempotencyKey]),
            );
            expect(new Set(gateway.calls.map(({ body }) => body)).size).toBe(1);
            checkWaits(gateway.waitsMs, attempts, typeof answer === "number" ? retryAfter : undefined);
            await gateway.close();
          }
        });
      }
    }
  });
}

/** Retry-After first, then doubling with a quarter of jitter either way, at most 30 s, never sooner than asked for. */
function checkWaits(waitsMs: readonly number[], attempts: number, retryAfter: string | undefined): void {
  expect(waitsMs).toHaveLength(attempts - 1);
  const askedMs = Number(retryAfter ?? 0) * 1_000;
  const firstMs = retryAfter === undefined ? 500 : askedMs;
  for (const [at, waitMs] of waitsMs.entries()) {
    const baseMs = Math.min(30_000, firstMs * 2 ** at);
    expect(waitMs).toBeGreaterThanOrEqual(Math.max(askedMs, Math.floor(baseMs * 0.75)));
    expect(waitMs).toBeLessThanOrEqual(Math.min(30_000, Math.ceil(baseMs * 1.25)));
  }
}
