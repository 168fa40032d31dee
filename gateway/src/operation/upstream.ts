import type { CallInput } from "./call-input.ts";
import type { UpstreamAnswer } from "./price-contract.ts";
import type { Service } from "./service.ts";
import type { JsonObject } from "../platform/json.ts";
import type { Quantities } from "../prices/quantities.ts";

/** Where calls go: one vendor account the operator configured, or the sandbox. */
export interface Upstream {
  readonly name: string;
  readonly protocol: string;
  readonly url: string;
  /** Empty for a vendor that wants none. */
  readonly key: string;
  /** The header that the key travels in, lower case. */
  readonly keyHeader: string;
  /** Headers of the operator's that every request carries, by their names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Parameters of the operator's that every address carries. */
  readonly query?: OwnQuery | undefined;
  /** What no answer may repeat to a caller: the key, and whatever else of these gives access. */
  readonly secrets: readonly string[];
  /** Decides the answer to a transport failure: 502 for native, 503 for managed. */
  readonly transport: "native" | "managed";
  readonly timeoutMs: number | undefined;
  readonly quotaRpm: number | undefined;
  /** How often in a second it may be asked about tasks, all of them together. */
  readonly pollQps: number;
  readonly weight: number;
  /** When the caller of a stream leaves: read on to the end and bill what was used, or break off and bill what passed. */
  readonly onCallerLeft: "drain" | "abort";
  /** What becomes of calls for tools that the vendor runs; refused when nobody says. */
  readonly hostedTools?: "refuse" | "allow";
  /** By which of OpenAI's two words it is told the most that a model may write; by what is known of it when nobody says. */
  readonly outputLimit?: "max_tokens" | "max_completion_tokens" | undefined;
  /** Whether a vendor of OpenAI's dialect is asked to tell at the end of a stream what it used; asked when nobody says. */
  readonly streamUsage?: "ask" | "never";
  /** The models it has among those that do not say where they are served; all of its protocol when nobody says. */
  readonly models?: ReadonlySet<string> | undefined;
  /** For a platform whose people can link their accounts. */
  readonly link?: LinkSettings | undefined;
  readonly sandbox: boolean;
}

/** Parameters as they stand in an address, and their names, in lower case, which are not the caller's to give. */
export interface OwnQuery {
  readonly text: string;
  readonly names: ReadonlySet<string>;
}

/** A platform's authorization server, and who we are there. */
export interface LinkSettings {
  /** Where a person is sent. An address that begins with a slash lies under our own base address. */
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** Undefined when the platform offers no revocation. */
  readonly revokeUrl: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** By what name the server calls itself when it sends a person back; with a slash first, as above. */
  readonly issuer: string;
  /** It always says its name, so that an answer without it is not its answer. */
  readonly saysIssuer: boolean;
}

/** The linked account in whose name a request is made, with its own token; the operator's key stays here then. */
export interface ActingFor {
  readonly userId: string;
  readonly accessToken: string;
}

/** One request to one upstream. */
export interface Dispatch {
  readonly callId: string;
  readonly upstream: Upstream;
  readonly service: Service;
  readonly input: CallInput;
  /** Headers of the caller's that belong to its dialect. */
  readonly forwarded: Readonly<Record<string, string>>;
  /** The model by the name that this upstream knows it by. */
  readonly model: string | undefined;
  /** By the name that the caller knows it by. */
  readonly modelAsked: string | undefined;
  /** What the model writes at most when the caller sets no limit, and the highest limit that it takes. */
  readonly unaskedOutputTokensMax: number | undefined;
  readonly outputTokensMax: number | undefined;
  /** The caller wants the answer piece by piece. */
  readonly streaming: boolean;
  readonly createdSeconds: number;
  readonly firstByteTimeoutMs: number;
}

/** How an attempt ended. Only `no_answer` can leave in doubt whether the upstream did the work. */
export type Exchanged =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly contentType: string | undefined;
      readonly body: string | Uint8Array;
      readonly answer: UpstreamAnswer;
      readonly tokens: TokenReading | undefined;
      /** As it is passed on, where it tells what is billed. */
      readonly asBilled?: ((used: Quantities) => Answered) | undefined;
      /** How long the vendor asks to be left alone. */
      readonly retryAfterSeconds: number | undefined;
      readonly hiddenFailure?: HiddenFailure | undefined;
    }
  | {
      readonly kind: "streaming";
      readonly status: number;
      readonly contentType: string;
      readonly relay: StreamRelay;
    }
  | {
      readonly kind: "rate_limited";
      readonly status: 429;
      readonly retryAfterSeconds: number | undefined;
      readonly outOfCredit?: true | undefined;
    }
  /** It is about the operator: the key, or, where that is known, an account with nothing left to pay with. */
  | {
      readonly kind: "key_rejected";
      readonly status: number;
      readonly outOfCredit?: true | undefined;
      /** The account can pay, but not for a call as large as this one. */
      readonly callTooLarge?: true | undefined;
    }
  /** The platform does not accept the linked account's token; it did nothing. */
  | { readonly kind: "link_rejected"; readonly status: 401 }
  | { readonly kind: "no_answer"; readonly reason: NoAnswerReason; readonly sent: boolean };

/**
 * Why an answer with the status of a success is none: it is nothing of its dialect, or an error and no output, of which
 * this is the status. It may pass as it came all the same, but its upstream did not work.
 */
export type HiddenFailure = "malformed" | number;

type Answered = Extract<Exchanged, { kind: "answered" }>;

/** A stream has begun; how it went is known when it has ended. */
export type Streaming = Extract<Exchanged, { kind: "streaming" }>;

/** All there will be, be it an answer or none. */
export type ExchangedWhole = Exclude<Exchanged, Streaming>;

/** What came of a question to which no stream can be the answer. */
export function wholeOf(exchanged: Exchanged): ExchangedWhole {
  if (exchanged.kind === "streaming") throw new Error("A stream came where none was asked for.");
  return exchanged;
}

/** A refusal that is not passed on as it came: a limit, or one about the operator. */
export type Refused = Extract<Exchanged, { kind: "rate_limited" | "key_rejected" }>;

export const isSuccess = (exchanged: Exchanged): exchanged is Answered =>
  exchanged.kind === "answered" && isSuccessStatus(exchanged.status);

export const isSuccessStatus = (status: number): boolean => status >= 200 && status <= 299;

/** Said by whoever stands before the vendor and did not hear from it in time: the work may be done all the same. */
export const leavesInDoubt = (status: number): boolean => gaveUpWaiting.has(status);
const gaveUpWaiting: ReadonlySet<number> = new Set([408, 504, 520, 522, 524]);

/** True when not a byte of the request left, so that the upstream cannot have done anything. */
export const neverSent = (exchanged: Exchanged): boolean => exchanged.kind === "no_answer" && !exchanged.sent;

export type NoAnswerReason = "unreachable" | "timeout" | "cut_off" | "redirect" | "too_large" | "malformed";

/** A streamed answer on its way from the upstream to the caller, in the caller's dialect. Never throws. */
export interface StreamRelay {
  /** From now on the bytes for the caller are handed over as they come; once. */
  readonly start: (taker: StreamTaker) => void;
  /** Nothing more is handed over until `resume`, and the upstream is kept waiting. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** How much was delivered so far, cheap enough to ask at every piece: bytes of text, or 1 for what has no measure. */
  readonly delivered: number;
  /** What passed so far; final once the end was told. */
  readonly read: () => StreamReading;
  /** Ends the connection to the upstream; the end is then told. */
  readonly leave: () => void;
}

export interface StreamTaker {
  readonly onPiece: (bytes: Uint8Array) => void;
  /** Comes once, last. */
  readonly onEnd: () => void;
}

interface StreamReading {
  readonly tokens: TokenReading;
  /** Whether the stream ended as its protocol says it should, without an error. */
  readonly complete: boolean;
  /** Whether the vendor itself said how it ended, be it with an error; otherwise it was cut, or ended too early. */
  readonly told: boolean;
  /** That error, where it was about the operator: what it would have been instead of an answer. */
  readonly refused?: Refused | undefined;
}

/** What the adapter read about tokens in a 2xx answer. */
export interface TokenReading {
  /** Undefined when the answer says nothing about usage; an explicit 0 is a figure. */
  readonly used: Quantities | undefined;
  /** What the answer itself suggests was used, for when it reports nothing; undefined when it delivered no output. */
  readonly estimate: Quantities | undefined;
  /** There is output that the estimate has no measure for, such as an image: then it is no less than what was expected. */
  readonly isUncounted?: boolean;
  /** The vendor says that it did not come to the end of its answer. */
  readonly gaveUp?: boolean;
  /** By which name the answer calls its model, where it does. */
  readonly model?: string | undefined;
  /** Figures that were negative, fractional or absurd and had to be bent into range; a reason to stop that nobody knows. */
  readonly anomalies: readonly string[];
  /** How many there were, where not all of them are named. */
  readonly anomalyCount?: number;
}

/** A call in the words of its upstream, ready to leave. */
export interface PreparedCall {
  readonly kind: "ready";
  readonly upstream: Upstream;
  readonly send: (actingFor?: ActingFor) => Promise<Exchanged>;
  /** The vendor has no such service: nothing leaves, so nothing of it is used. */
  readonly answeredHere: boolean;
}

/** The member of a call that this upstream cannot be told. */
export interface Unsayable {
  readonly kind: "unsayable";
  readonly field: string;
  readonly message: string;
  /** What clients of the caller's dialect have to read to go on without that member. */
  readonly details: JsonObject | undefined;
}

/** Speaks to upstreams. Never throws for what an upstream does; a throw is a bug of ours. */
export interface Forwarder {
  readonly prepare: (dispatch: Dispatch) => PreparedCall | Unsayable;
}
