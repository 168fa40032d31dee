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
  /** Undefined for an operation that is called without a model. */
  readonly model: AskedModel | undefined;
  /** The caller wants the answer piece by piece. */
  readonly streaming: boolean;
  readonly createdSeconds: number;
  readonly firstByteTimeoutMs: number;
}

/** The model that a call is for. */
export interface AskedModel {
  /** By the name that the upstream knows it by. */
  readonly name: string;
  /** By the name that the caller knows it by. */
  readonly askedAs: string;
  /** What it writes at most when the caller sets no limit. */
  readonly unaskedOutputTokensMax: number;
  /** The highest limit that its vendor takes; undefined when nobody wrote it down. */
  readonly outputTokensMax: number | undefined;
}

/** For exchanges that make no sense without a model: a vendor must never be sent an empty name. */
export function modelOf({ model, service }: Dispatch): AskedModel {
  if (!model) throw new Error(`The exchange "${service.exchange}" was begun without a model.`);
  return model;
}

/** A call in the words of its upstream, ready to leave. */
export interface PreparedCall {
  readonly kind: "ready";
  readonly upstream: Upstream;
  readonly send: (actingFor?: ActingFor) => Promise<Exchanged>;
  /** The same call without what only the account can read that gave it; undefined where nothing of that is in it. */
  readonly forgetting: () => PreparedCall | undefined;
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
