import type { CallInput } from "./call-input.ts";
import type { Exchanged } from "./exchanged.ts";
import type { Service } from "./service.ts";
import type { ActingFor, Upstream } from "./upstream.ts";
import type { JsonObject } from "../platform/json.ts";

/** Speaks to upstreams. Never throws for what an upstream does; a throw is a bug of ours. */
export interface Forwarder {
  readonly prepare: (dispatch: Dispatch) => PreparedCall | Unsayable;
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
