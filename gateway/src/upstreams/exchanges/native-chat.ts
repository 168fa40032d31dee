import type { Dispatch } from "../../operation/forwarder.ts";
import type { JsonObject } from "../../platform/json.ts";
import type { Dialect, WriteContext } from "../dialects/dialect.ts";
import type { SseFrame } from "../streams/sse.ts";

/** What is particular about speaking to one vendor in its own dialect. */
export interface NativeChat {
  readonly dialect: Dialect;
  /** The vendor's address for this call. */
  readonly path: (dispatch: Dispatch) => string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller's own body, changed as little as possible; for callers that speak this dialect. */
  readonly nativeBody: (dispatch: Dispatch) => string | Uint8Array;
  /** A body we wrote, completed with what belongs to the request and not to the conversation. */
  readonly completeBody: (body: JsonObject, dispatch: Dispatch) => JsonObject;
  /** What the caller sees of a frame of its own dialect; undefined passes it as it came. */
  readonly showFrame?: (frame: SseFrame, context: WriteContext) => string | undefined;
  /** Where this dialect reports usage. */
  readonly usageOf: (json: JsonObject) => unknown;
}
