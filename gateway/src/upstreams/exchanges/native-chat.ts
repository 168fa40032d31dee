import type { Dispatch } from "../../operation/forwarder.ts";
import type { JsonObject } from "../../platform/json.ts";
import type { Dialect, WriteContext } from "../dialects/dialect.ts";
import type { Exchange } from "../protocol.ts";
import type { SseFrame } from "../streams/sse.ts";
import type { BeginningReader } from "../streams/stream-opening.ts";

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
  /** Whether this vendor certainly takes instructions behind the first word of a conversation, whatever the model. */
  readonly takesInstructionsAnywhere?: (dispatch: Dispatch) => boolean;
  /** Whether the vendor keeps what this call says under the id of its answer, for later calls to go on with. */
  readonly keepsAnswer?: (dispatch: Dispatch) => boolean;
  /** Whether an error only says that what the call goes on with is not kept at this vendor, or not for this key. */
  readonly isKeptElsewhere?: Exchange["isKeptElsewhere"];
  /** A body we wrote without what may be kept elsewhere; undefined where nothing of that is in it. */
  readonly withoutKept?: (body: JsonObject) => JsonObject | undefined;
  /** What an error of this vendor's would be as an answer, where every other vendor would have given one. */
  readonly answerIn?: (status: number, json: unknown) => JsonObject | undefined;
  /** A whole answer as the events of this dialect, where they are not those of its writer; undefined for what is no answer. */
  readonly asEvents?: (json: unknown) => string | undefined;
  /** Which events only say that an answer begins, where it is not for the reader of this dialect to say. */
  readonly beginnings?: BeginningReader;
  /** Whether an answer with output says that it did not come to its end. */
  readonly gaveUp?: (json: JsonObject) => boolean;
  /** Where this dialect reports usage. */
  readonly usageOf: (json: JsonObject) => unknown;
}
