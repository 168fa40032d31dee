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
  /** Said by a door through which programs come: whoever links an account is first shown, on a page of ours, for whom. */
  readonly confirmsLinks?: true;
  /** Said by a door that made the key itself: for how long a request that ended has it; a day where it is not said. */
  readonly keyKeptMs?: number | undefined;
  /** Said by a door whose callers do not see methods: an idempotency key holds for every operation, not only for a POST. */
  readonly keysHoldForAll?: true;
  /** Said by a door whose callers write no bytes: the body as its key knows it again, in whatever order it is written then. */
  readonly bodyKnownAs?: () => string;
  /** Headers that belong to the body's dialect and travel with it. */
  readonly forwarded: Readonly<Record<string, string>>;
  /** Said by a door that agents come through: what needs no approval, and the approval they bring. */
  readonly approval?: {
    readonly coveredMicros: Micros;
    readonly claim: ApprovalClaim | undefined;
  };
  readonly offer: Offer;
  readonly receivedAtMs: number;
  readonly readBody: (bytesMax: number) => Uint8Array | Promise<Uint8Array>;
  /** What became known on the way, for whoever answers, also when the call is refused. */
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
  /** False where a client must not repeat the call by itself: the upstream may have done the work, or be at it. */
  readonly retryable?: false;
  /** Resolves when a streamed body has ended and is booked. */
  readonly ended?: Promise<void>;
}

export const jsonAnswer = (status: number, value: unknown): Answer => ({
  status,
  contentType: "application/json",
  body: JSON.stringify(value),
});
