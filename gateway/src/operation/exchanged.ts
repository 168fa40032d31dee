import type { UpstreamAnswer } from "./price-contract.ts";
import type { StreamRelay } from "./stream-relay.ts";
import type { TokenReading } from "./token-reading.ts";
import type { WithheldRefusal } from "./withheld-refusal.ts";
import type { Quantities } from "../prices/quantities.ts";

/** How an attempt ended. Only `no_answer` can leave in doubt whether the upstream did the work. */
export type Exchanged =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly contentType: string | undefined;
      readonly body: string | Uint8Array;
      readonly answer: UpstreamAnswer;
      readonly tokens: TokenReading | undefined;
      /** By which ids later calls may go on with it, where its vendor keeps it. */
      readonly keptIds?: readonly string[] | undefined;
      /** As it is passed on, where it tells what is billed. */
      readonly asBilled?: ((used: Quantities) => Answered) | undefined;
      /** How long the vendor asks to be left alone. */
      readonly retryAfterSeconds: number | undefined;
      readonly hiddenFailure?: HiddenFailure | undefined;
      /** It only refuses because it does not have this; another upstream may. */
      readonly lacks?: Lacked | undefined;
    }
  | {
      readonly kind: "streaming";
      readonly status: number;
      readonly contentType: string;
      readonly relay: StreamRelay;
    }
  | WithheldRefusal
  /** The platform does not accept the linked account's token; it did nothing. */
  | { readonly kind: "link_rejected"; readonly status: 401 }
  | { readonly kind: "no_answer"; readonly reason: NoAnswerReason; readonly sent: boolean };

/**
 * Why an answer is no success although its status says so: it is not in its dialect, or it is an error without output, which
 * has this status. It may still be passed on as it came, but its upstream did not work.
 */
export type HiddenFailure = "malformed" | number;

/** What a call needs of an upstream besides its work: a model under the name that it has there, or what a vendor keeps for later calls. */
export type Lacked = "model" | "what the call goes on with";

type Answered = Extract<Exchanged, { kind: "answered" }>;

/** A stream has begun; how it went is known when it has ended. */
export type BegunStream = Extract<Exchanged, { kind: "streaming" }>;

/** All there will be, be it an answer or none. */
export type ExchangedWhole = Exclude<Exchanged, BegunStream>;

/** What came of a question to which no stream can be the answer. */
export function wholeOf(exchanged: Exchanged): ExchangedWhole {
  if (exchanged.kind === "streaming") throw new Error("A stream came where none was asked for.");
  return exchanged;
}

export const isSuccess = (exchanged: Exchanged): exchanged is Answered =>
  exchanged.kind === "answered" && isSuccessStatus(exchanged.status);

export const isSuccessStatus = (status: number): boolean => status >= 200 && status <= 299;

/** Said by whoever stands before the vendor and did not hear from it in time: the work may be done all the same. */
export const leavesInDoubt = (status: number): boolean => gaveUpWaiting.has(status);
const gaveUpWaiting: ReadonlySet<number> = new Set([408, 504, 520, 522, 524]);

/** True when not a byte of the request left, so that the upstream cannot have done anything. */
export const neverSent = (exchanged: Exchanged): boolean => exchanged.kind === "no_answer" && !exchanged.sent;

export type NoAnswerReason =
  | "unreachable"
  | "timeout"
  | "cut_off"
  | "redirect"
  | "too_large"
  | "malformed"
  /** Nobody waited for it any longer: no word about the upstream. */
  | "gateway_stopped";
