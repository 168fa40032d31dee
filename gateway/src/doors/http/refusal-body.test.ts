import { describe, expect, test } from "bun:test";
import { refuseBusy, refuseUnavailable } from "../../call/refusals/refuse-for-upstream.ts";
import { refuseUnapproved } from "../../call/refusals/refuse-unapproved.ts";
import { unbooked } from "../../call/refusals/refuse-unbooked.ts";
import { refuseUnpayable } from "../../call/refusals/refuse-unpayable.ts";
import { refuseEarlier } from "../../ledger/refuse-earlier.ts";
import { toldOfLimit } from "../../limits/hit-limit.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ModelDialect } from "../../platform/dialect.ts";
import { CallRefused, refuse } from "../../platform/refusals.ts";
import { toolError } from "../mcp/tools/tool-errors.ts";
import { refusalBody } from "./refusal-body.ts";

interface Told {
  readonly refusing: () => unknown;
  /** The whole body in the plain shape. */
  readonly plain: string;
  /** What stands in `error` after the words of a model dialect itself. */
  readonly further: string;
  /** The same in Gemini's dialect, where it differs: there `reason` is the code. */
  readonly furtherInGemini?: string;
  /** How long to wait, which Gemini's dialect tells in the body, too. */
  readonly secondsToWait?: number;
  /** What the header `x-should-retry` says; undefined where there is none. */
  readonly retryable: boolean | undefined;
  readonly agentMayRetry: boolean;
}

const clock: Clock = { wallMs: () => 60_000, monotonicMs: () => 0 };
const bill = { atMostMicros: 5n, named: "The call", atMs: 60_000 } as const;
const running = {
  callId: "req_0",
  state: "dispatched",
  outcome: undefined,
  chargedMicros: 0n,
  sameRequest: true,
} as const;
const busy =
  '{"error":{"type":"rate_limit_error","code":"upstream_rate_limit","message":"The upstream is busy; nothing was charged.","limit":{"name":"upstream","limit":null,"remaining":0,"reset":62}},"request_id":"req_1"}';
const busyFurther = '{"limit":{"name":"upstream","limit":null,"remaining":0,"reset":62}}';
/** What is told in Gemini's dialect besides, where there is a time to wait for. */
const waiting = (seconds: number | undefined, further: string): string =>
  seconds === undefined
    ? further
    : `{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"${seconds}s"}],${further.slice(1)}`;

const table: Readonly<Record<string, Told>> = {
  "a parameter at fault": {
    refusing: () => refuse("invalid_parameters", "No.", { field: "model", inError: { details: ["x"] } }),
    plain: '{"error":"No.","code":"invalid_parameters","request_id":"req_1"}',
    further: '{"details":["x"]}',
    retryable: undefined,
    agentMayRetry: false,
  },
  "a balance that does not suffice": {
    refusing: () => refuseUnpayable({ kind: "insufficient_balance", availableMicros: 2n }, bill),
    plain:
      '{"error":{"code":"insufficient_balance","message":"The call may cost 0.000005 USD; 0.000002 USD are available.","retryable":false,"estimated_micros_usd":5,"limit_micros_usd":2},"request_id":"req_1"}',
    further: '{"retryable":false,"estimated_micros_usd":5,"limit_micros_usd":2}',
    retryable: false,
    agentMayRetry: false,
  },
  "a budget that is used up": {
    refusing: () =>
      refuseUnpayable(
        {
          kind: "budget_exceeded",
          budget: { limitMicros: 4n, window: "day" },
          spentMicros: 3n,
          heldMicros: 0n,
        },
        bill,
      ),
    plain:
      '{"error":{"code":"budget_exceeded","message":"The call may cost 0.000005 USD; of this key\'s day budget of 0.000004 USD, 0.000003 USD are spent and 0 USD held by running calls.","retryable":false,"estimated_micros_usd":5,"limit_micros_usd":4,"window":"day","spent_micros_usd":3,"held_micros_usd":0,"resets_at":86400},"request_id":"req_1"}',
    further:
      '{"retryable":false,"estimated_micros_usd":5,"limit_micros_usd":4,"window":"day","spent_micros_usd":3,"held_micros_usd":0,"resets_at":86400}',
    retryable: false,
    agentMayRetry: false,
  },
  "an approval that is missing": {
    refusing: () => refuseUnapproved("unknown", 5n, 1n),
    plain:
      '{"error":{"code":"approval_required","message":"There is no such approval for this call. Nothing was spent.","retryable":false,"reason":"unknown","estimated_micros_usd":5,"covered_micros_usd":1},"request_id":"req_1"}',
    further: '{"retryable":false,"reason":"unknown","estimated_micros_usd":5,"covered_micros_usd":1}',
    furtherInGemini: '{"retryable":false,"estimated_micros_usd":5,"covered_micros_usd":1}',
    retryable: false,
    agentMayRetry: false,
  },
  "scopes that a link lacks": {
    refusing: () => refuse("insufficient_scope", "No.", { inError: { missing_scopes: ["a"] } }),
    plain:
      '{"error":{"code":"insufficient_scope","message":"No.","missing_scopes":["a"]},"request_id":"req_1"}',
    further: '{"missing_scopes":["a"]}',
    retryable: undefined,
    agentMayRetry: false,
  },
  "a call that still runs": {
    refusing: () => refuseEarlier(running),
    plain:
      '{"error":{"code":"request_in_progress","message":"The request with this Idempotency-Key is still running.","retryable":true},"original":{"request_id":"req_0","status":"dispatched","charged_micros_usd":0},"request_id":"req_1"}',
    further:
      '{"retryable":true,"original":{"request_id":"req_0","status":"dispatched","charged_micros_usd":0}}',
    secondsToWait: 1,
    retryable: true,
    agentMayRetry: true,
  },
  "a call that has ended": {
    refusing: () => refuseEarlier({ ...running, state: "settled", outcome: "succeeded" }),
    plain:
      '{"error":{"code":"request_already_completed","message":"The request with this Idempotency-Key has ended; it is not repeated or charged again.","retryable":false},"original":{"request_id":"req_0","status":"settled","charged_micros_usd":0},"request_id":"req_1"}',
    further:
      '{"retryable":false,"original":{"request_id":"req_0","status":"settled","charged_micros_usd":0}}',
    retryable: false,
    agentMayRetry: false,
  },
  "a limit that is hit": {
    refusing: () =>
      refuse("rate_limit_exceeded", "No.", toldOfLimit({ name: "n", limit: 1, retryInMs: 1_000 }, 0)),
    plain:
      '{"error":{"type":"rate_limit_error","code":"rate_limit_exceeded","message":"No.","limit":{"name":"n","limit":1,"remaining":0,"reset":1}},"request_id":"req_1"}',
    further: '{"limit":{"name":"n","limit":1,"remaining":0,"reset":1}}',
    secondsToWait: 1,
    retryable: undefined,
    agentMayRetry: true,
  },
  "a busy upstream": {
    refusing: () => refuseBusy(2, clock),
    plain: busy,
    further: busyFurther,
    secondsToWait: 2,
    retryable: undefined,
    agentMayRetry: true,
  },
  "an upstream without credit": {
    refusing: () => refuseBusy(2, clock, { retryable: false }),
    plain: busy,
    further: busyFurther,
    secondsToWait: 2,
    retryable: false,
    agentMayRetry: false,
  },
  "an upstream that failed": {
    refusing: () => refuse("provider_request_failed", "No.", { retryable: false }),
    plain: '{"error":"No.","code":"provider_request_failed","request_id":"req_1"}',
    further: "{}",
    retryable: false,
    agentMayRetry: false,
  },
  "an upstream that is paused": {
    refusing: () => refuseUnavailable(true, { retryAfterSeconds: 3 }),
    plain:
      '{"error":{"code":"provider_unavailable","message":"The provider cannot serve this call now; nothing was charged.","retryable":true,"request_id":"req_1"}}',
    further: '{"retryable":true}',
    secondsToWait: 3,
    retryable: true,
    agentMayRetry: true,
  },
  "books that cannot be written": {
    refusing: () => {
      throw unbooked(new Error("full"), { message: "No.", retryable: false });
    },
    plain: '{"error":{"code":"billing_unavailable","message":"No.","retryable":false,"request_id":"req_1"}}',
    further: '{"retryable":false}',
    retryable: false,
    agentMayRetry: false,
  },
  "a bug of ours": {
    refusing: () => refuse("internal", "No."),
    plain: '{"error":"No.","code":"internal","request_id":"req_1"}',
    further: "{}",
    retryable: undefined,
    agentMayRetry: false,
  },
};

describe("a refusal says, byte for byte as ever, of", () => {
  for (const [name, told] of Object.entries(table)) {
    const {
      refusing,
      plain,
      further,
      furtherInGemini = further,
      secondsToWait,
      retryable,
      agentMayRetry,
    } = told;
    test(name, () => {
      const refusal = refusalOf(refusing);
      expect(bodyOf(refusal, "plain")).toBe(plain);
      expect(furtherIn(refusal, "openai")).toBe(further);
      expect(furtherIn(refusal, "anthropic")).toBe(further);
      expect(furtherIn(refusal, "gemini")).toBe(waiting(secondsToWait, furtherInGemini));
      expect(refusal.details.retryAfterSeconds).toBe(secondsToWait);
      expect(refusal.details.retryable).toBe(retryable);
      expect(toolError(refusal, "no").retryable).toBe(agentMayRetry);
    });
  }
});

function refusalOf(refusing: () => unknown): CallRefused {
  try {
    refusing();
  } catch (error) {
    if (error instanceof CallRefused) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}

const bodyOf = (refusal: CallRefused, dialect: ModelDialect | "plain"): string =>
  JSON.stringify(
    refusalBody(refusal, {
      conventions: { dialect, messageOnly400: false },
      requestId: "req_1",
      quoting: false,
      keyPresented: true,
    }),
  );

/** What a body says beyond the dialect's own words, which stand before it. */
function furtherIn(refusal: CallRefused, dialect: ModelDialect): string {
  const bare = bodyOf(new CallRefused(refusal.code, refusal.message, fieldOf(refusal)), dialect);
  const own = bare.slice(0, bare.indexOf("}"));
  const whole = bodyOf(refusal, dialect);
  expect(whole.startsWith(own)).toBe(true);
  const rest = whole.slice(own.length, whole.length - (bare.length - own.length));
  return `{${rest.replace(/^,/, "")}}`;
}

const fieldOf = ({ details: { field } }: CallRefused) => (field === undefined ? {} : { field });
