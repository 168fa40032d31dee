import type { ExchangeName } from "../operation/operation.ts";
import type { Dispatch, TokenReading } from "../operation/upstream.ts";

/** How one vendor is spoken to: where its key goes, and what it can exchange. */
export interface Protocol {
  /** The header that carries the operator's key, and nothing else of the caller's. */
  readonly keyHeader: (key: string) => readonly [name: string, value: string];
  readonly exchanges: Readonly<Partial<Record<ExchangeName, Exchange>>>;
}

/** Request out, answer in. Both are pure: values in, values out. */
export interface Exchange {
  readonly request: (dispatch: Dispatch) => VendorRequest;
  /** Reads a 2xx JSON answer. What it leaves undefined passes through as it came. */
  readonly read: (json: unknown, dispatch: Dispatch) => Reading;
}

interface VendorRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string | Uint8Array;
}

interface Reading {
  /** The answer in our shape, where it differs from the vendor's. */
  readonly json?: unknown;
  readonly tokens?: TokenReading;
}
