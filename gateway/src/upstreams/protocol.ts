import type { ExchangeName } from "../operation/service.ts";
import type { HiddenFailure } from "../operation/exchanged.ts";
import type { Dispatch } from "../operation/forwarder.ts";
import type { TokenReading } from "../operation/token-reading.ts";
import type { JsonObject } from "../platform/json.ts";
import type { Quantities } from "../prices/quantities.ts";
import type { StreamRules } from "./streams/frame-passer.ts";
import type { BeginningReader } from "./streams/stream-opening.ts";

/** How one vendor is spoken to. */
export interface Protocol extends OperatorWords {
  /** An error about what the caller asked for that has one of the statuses about our key, as the caller may hear it. */
  readonly callersError?: (status: number, json: unknown) => ToldError | undefined;
  /** How long a 429 asks to wait in seconds, where it says so in its body. */
  readonly waitToldIn?: (json: unknown) => number | undefined;
  /** A list of the models that a key may use, where it costs nothing. */
  readonly listing?: Listing;
  readonly exchanges: Readonly<Partial<Record<ExchangeName, Exchange>>>;
  /** The exchange for a call that this vendor is better asked in another way than its operation says; undefined for any other. */
  readonly exchangeInstead?: (dispatch: Dispatch) => Exchange | undefined;
}

/** What a vendor's errors say of the operator in words of its own. */
export interface OperatorWords {
  /** Whether an error is about the operator's own key, plan or application where its status alone does not tell. */
  readonly isAboutOperator?: (status: number, json: unknown) => boolean;
  /** Whether such an error says that the operator's account has nothing left to pay with. */
  readonly isOutOfCredit?: (status: number, json: unknown) => boolean;
}

/** Statuses that speak about the operator's key or plan, unless their words say that they are about the caller's content. */
export const aboutOurKey: ReadonlySet<number> = new Set([401, 402, 403]);

export interface Listing {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Undefined where the answer is no such list. */
  readonly read: (json: unknown) => Listed | undefined;
}

export interface Listed {
  readonly models: readonly string[];
  /** Whether these are all of them. */
  readonly complete: boolean;
}

/** Request out, answer in. Both are pure: values in, values out. */
export interface Exchange {
  readonly request: (dispatch: Dispatch) => VendorRequest | OwnAnswer;
  /** Whether the caller speaks another dialect than the vendor, so that no answer can pass through as it came. */
  readonly translates?: (dispatch: Dispatch) => boolean;
  /** Why a 2xx answer is no success, where this protocol can tell; `json` is undefined where the answer is not JSON. */
  readonly hiddenFailure?: (json: unknown, words: OperatorWords) => HiddenFailure | undefined;
  /** Such an answer as it would have been told with the status of an error, where it does not say it at its top. */
  readonly errorBody?: (json: unknown) => JsonObject | undefined;
  /** Whether an error only says that what the call goes on with is not kept at this vendor, or not for this key. */
  readonly isKeptElsewhere?: (status: number, json: unknown) => boolean;
  /** The request without what is kept elsewhere, where the call makes sense without it; undefined where nothing of that is in it. */
  readonly forgettingRequest?: (dispatch: Dispatch) => VendorRequest | undefined;
  /** Reads a 2xx JSON answer. What it leaves undefined passes through as it came. */
  readonly read: (json: unknown, dispatch: Dispatch) => Reading;
  /** An error that is an answer where the caller comes from, as the answer that it stands for; undefined for any other. */
  readonly answerIn?: (status: number, json: unknown, dispatch: Dispatch) => JsonObject | undefined;
  /** An error of the vendor's in the caller's words, where they differ; undefined passes it on as it came. */
  readonly readError?: (status: number, json: unknown, dispatch: Dispatch) => unknown;
  /**
   * A 2xx JSON answer as the events it would have come in, for a vendor that did not heed that a stream was asked for;
   * undefined where it is no answer.
   */
  readonly asEvents?: (json: unknown, dispatch: Dispatch) => string | undefined;
  /** Which events of a stream say no more than that an answer begins, before one that says there will be none. */
  readonly beginnings?: BeginningReader;
  /** How a streamed answer is passed on. */
  readonly stream?: (dispatch: Dispatch, words: OperatorWords) => StreamRules;
}

export interface VendorRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the gateway answers itself, because this vendor has no such service. */
export interface OwnAnswer {
  readonly answer: JsonObject;
}

interface Reading {
  /** The answer in our shape, where it differs from the vendor's. */
  readonly json?: unknown;
  /** The same for an answer that tells what is billed, which is known once it was metered. */
  readonly asBilled?: (used: Quantities) => unknown;
  readonly tokens?: TokenReading;
  /** By which ids later calls may go on with the answer, where the vendor keeps it. */
  readonly keptIds?: readonly string[];
  /** The vendor's error in the caller's words, where it was told with the status of a success. */
  readonly error?: ToldError;
}

export interface ToldError {
  readonly status: number;
  readonly json: unknown;
}
