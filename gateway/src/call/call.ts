import type { ApprovalClaim } from "../approvals/approvals.ts";
import type { Credential } from "../keys/keys.ts";
import type { SeenStanding } from "../limits/call-limits.ts";
import type { Want } from "../limits/limiter.ts";
import type { TakenAt } from "../limits/taken-at.ts";
import type { Offer, OfferedOperation } from "../offer/offer.ts";
import type { Micros } from "../platform/money.ts";
import type { PacedBody } from "../platform/paced-body.ts";

/** What the caller showed at the door. */
export type PresentedKey =
  | { readonly kind: "none"; readonly why?: string }
  | { readonly kind: "malformed"; readonly why: string }
  | { readonly kind: "key"; readonly value: string };

/** A call as a door hands it in, whatever protocol the door speaks. */
export interface Call {
  /** Made before anything else; it is the hold, the ledger reference and the caller's X-Request-ID. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string;
  readonly presented: PresentedKey;
  /** Where it came from, as far as the listener and the operator's proxies tell. */
  readonly address: () => string | undefined;
  readonly costMode: string | undefined;
  readonly maxPriceUsd: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** What the header about asynchronous calls says. */
  readonly asyncMode: string | undefined;
  /** Set by doors that requests come to: this one asks to go on in another protocol. */
  readonly wantsWebSocket?: boolean;
  /** Set by doors for programs: a person who links an account first sees on a page of ours whom it is linked for. */
  readonly confirmsLinks?: true;
  /**
   * Set by a door that made the idempotency key itself: how long a request keeps it after its end; a day where it is not
   * said.
   */
  readonly keyKeptMs?: number | undefined;
  /** Set by a door whose callers do not see methods: an idempotency key works for every operation, not only for a POST. */
  readonly keysHoldForAll?: true;
  /**
   * Set by a door whose callers do not write bytes: the body in a form that is the same however its members are ordered, by
   * which a repetition is recognised.
   */
  readonly bodyKnownAs?: () => string;
  /** Headers that belong to the body's dialect and travel with it. */
  readonly forwarded: Readonly<Record<string, string>>;
  /** Set by the door of agents: what needs no approval, and the approval that they bring. */
  readonly approval?: {
    readonly coveredMicros: Micros;
    readonly claim: ApprovalClaim | undefined;
  };
  readonly offer: Offer;
  readonly receivedAtMs: number;
  readonly readBody: (bytesMax: number) => Uint8Array | Promise<Uint8Array>;
  /** What became known along the way. Whoever answers reads it, also when the call is refused. */
  readonly known: Known;
}

export interface Known {
  caller?: Credential | undefined;
  offered?: OfferedOperation | undefined;
  /** Under the name it is offered by. */
  model?: string | undefined;
  /** Who answered, or did not. */
  upstream?: string | undefined;
  /** The tightest limit on requests that applied, and the one on tokens where there is one. */
  requests?: SeenStanding | undefined;
  tokens?: SeenStanding | undefined;
  /** What was counted so far, to be returned should a later limit refuse the call. */
  counted: { readonly wants: readonly Want[]; readonly takenAt: TakenAt }[];
  /** The most the call can cost, and whether that was held for it. */
  atMostMicros?: Micros | undefined;
  /** What it will probably cost; only where somebody is to be told before it runs. */
  expectedMicros?: Micros | undefined;
  held?: true | undefined;
  chargedMicros?: Micros | undefined;
  servedBySandbox?: boolean | undefined;
}

/** Nothing yet. Every member has its place from the beginning: an object that grows is moved each time. */
export const nothingKnown = (): Known => ({
  caller: undefined,
  offered: undefined,
  model: undefined,
  upstream: undefined,
  requests: undefined,
  tokens: undefined,
  counted: [],
  atMostMicros: undefined,
  expectedMicros: undefined,
  held: undefined,
  chargedMicros: undefined,
  servedBySandbox: undefined,
});

/** What the caller gets when the call was not refused. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Uint8Array | string | PacedBody;
  /** How long the upstream asks to be left alone, where it failed. */
  readonly retryAfterSeconds?: number;
  /** False where a client must not repeat the call by itself: the upstream may have done the work, or may be doing it. */
  readonly retryable?: false;
  /** Resolves when a streamed body has ended and is booked. */
  readonly ended?: Promise<void>;
}

export const jsonAnswer = (status: number, value: unknown): Answer => ({
  status,
  contentType: "application/json",
  body: JSON.stringify(value),
});
