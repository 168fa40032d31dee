import type { ExchangeName } from "../operation/operation.ts";
import type { Dispatch, TokenReading } from "../operation/upstream.ts";
import type { JsonObject } from "../platform/json.ts";
import type { StreamRules } from "./frame-passer.ts";

/** How one vendor is spoken to: where its key goes, and what it can exchange. */
export interface Protocol {
  /** The header that carries the operator's key, and nothing else of the caller's. */
  readonly keyHeader: (key: string) => readonly [name: string, value: string];
  /** Whether an error is about the operator's own key, plan or application where its status alone does not tell. */
  readonly isAboutOperator?: (status: number, json: unknown) => boolean;
  readonly exchanges: Readonly<Partial<Record<ExchangeName, Exchange>>>;
}

/** Request out, answer in. Both are pure: values in, values out. */
export interface Exchange {
  readonly request: (dispatch: Dispatch) => VendorRequest | OwnAnswer;
  /** Its answers say what they used, so a success that is no JSON object can be neither read nor charged: it is none. */
  readonly paidByTokens?: true;
  /** Whether the caller speaks another dialect than the vendor, so that no answer can pass through as it came. */
  readonly translates?: (dispatch: Dispatch) => boolean;
  /** Reads a 2xx JSON answer. What it leaves undefined passes through as it came. */
  readonly read: (json: unknown, dispatch: Dispatch) => Reading;
  /** An error of the vendor's in the caller's words, where they differ; undefined passes it on as it came. */
  readonly readError?: (status: number, json: unknown, dispatch: Dispatch) => unknown;
  /**
   * A 2xx JSON answer as the events it would have come in, for a vendor that did not heed that a stream was asked for;
   * undefined where it is no answer.
   */
  readonly asEvents?: (json: unknown, dispatch: Dispatch) => string | undefined;
  /** How a streamed answer is passed on. */
  readonly stream?: (dispatch: Dispatch) => StreamRules;
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

/** What a vendor's error is answered with when its own status says that nothing failed. */
export const hiddenErrorStatus = 502;

interface Reading {
  /** The answer in our shape, where it differs from the vendor's. */
  readonly json?: unknown;
  readonly tokens?: TokenReading;
  /** The vendor's error in the caller's words, where it was told with the status of a success. */
  readonly error?: unknown;
}
