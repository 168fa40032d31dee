import { modelOf, type Dispatch } from "../../operation/forwarder.ts";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { chatFailureIn, failureIn, isWithoutAnswer } from "./chat-failure.ts";
import { chatStream } from "./chat-stream.ts";
import { readTokens } from "./chat-tokens.ts";
import { keptIdOf } from "./kept-ids.ts";
import { isSaid } from "../dialects/added-instructions.ts";
import { writeFor } from "../dialects/callers-names.ts";
import {
  Inexpressible,
  type Dialect,
  type SpokenDialect,
  type SseEvent,
  type WriteContext,
} from "../dialects/dialect.ts";
import { spokenDialects } from "../dialects/dialects.ts";
import { withExactNumbers } from "../dialects/exact-json.ts";
import { writeDialectError, readErrorMessage } from "../dialects/dialect-errors.ts";
import { hiddenErrorStatus, statusSaidIn } from "../answers/hidden-error.ts";
import { withoutLimits } from "../answers/own-limits.ts";
import type { NativeChat } from "./native-chat.ts";
import type { Exchange, VendorRequest } from "../protocol.ts";
import { saidInEvents } from "../streams/said-in-events.ts";
import { asShownTo } from "./shown-thoughts.ts";
import { callersNames, withCallersNames, withTakenNames } from "./tool-names.ts";

const nothingKept: readonly string[] = [];

/** A conversation with this vendor, for callers of any dialect: passed through where both speak the same, translated elsewhere. */
export function chatExchange(native: NativeChat): Exchange {
  const own = native.dialect;
  const callersOf = ({ service }: Dispatch): SpokenDialect => spokenDialects[service.dialect ?? own.name];

  const request = (dispatch: Dispatch): VendorRequest => {
    const callers = callersOf(dispatch);
    return callers === own
      ? requestWith(native.nativeBody(dispatch), dispatch, dispatch.forwarded)
      : requestWith(JSON.stringify(translate(callers, own, native, dispatch)), dispatch);
  };

  const requestWith = (
    body: string | Uint8Array,
    dispatch: Dispatch,
    forwarded?: Headers,
  ): VendorRequest => ({
    method: "POST",
    path: native.path(dispatch),
    body,
    headers: headersOf(native, forwarded),
  });

  /** What a caller of this very dialect wrote is the caller's own to mend. */
  const forgettingRequest = (dispatch: Dispatch): VendorRequest | undefined => {
    const callers = callersOf(dispatch);
    const body =
      callers === own ? undefined : native.withoutKept?.(translate(callers, own, native, dispatch));
    return body && requestWith(JSON.stringify(body), dispatch);
  };

  return {
    request,
    translates: (dispatch) => callersOf(dispatch) !== own,
    hiddenFailure: chatFailureIn,
    errorBody: failureIn,
    ...(native.isKeptElsewhere && { isKeptElsewhere: native.isKeptElsewhere }),
    ...(native.withoutKept && { forgettingRequest }),
    read: (json, dispatch) => {
      const callers = callersOf(dispatch);
      // Where nothing is translated, the answer is read only for what must be paid.
      if (callers === own) {
        const keptIds = native.keepsAnswer?.(dispatch) ? keptIdOf(json) : nothingKept;
        const told = isJsonObject(json) ? withoutLimits(json) : undefined;
        return { json: told, tokens: readTokens(json, native, undefined), keptIds };
      }
      const failure = failureIn(json);
      if (failure !== undefined) {
        const status = isWithoutAnswer(json) ? statusSaidIn(failure) : hiddenErrorStatus;
        return {
          error: { status, json: writeDialectError(callers.name, status, readErrorMessage(failure)) },
        };
      }
      const answer = own.readAnswer(json);
      const tokens = readTokens(json, native, answer);
      const names = callersNames(dispatch.input.body, callers, own);
      const named = names.size === 0 ? answer : withCallersNames(answer, names);
      const shown = asShownTo(callers, named, dispatch);
      return { tokens, json: callers.writeAnswer(shown, contextOf(dispatch, callers)) };
    },
    answerIn: (status, json, dispatch) =>
      callersOf(dispatch) === own ? undefined : native.answerIn?.(status, json),
    readError: (status, json, dispatch) => {
      const callers = callersOf(dispatch);
      return callers === own ? undefined : writeDialectError(callers.name, status, readErrorMessage(json));
    },
    asEvents: (json, dispatch) => {
      if (native.asEvents) return native.asEvents(json);
      const callers = callersOf(dispatch);
      return saidInEvents(json, native, callers, contextOf(dispatch, callers));
    },
    beginnings: native.beginnings ?? (() => onlyBeginning(own)),
    stream: (dispatch, words) => {
      const callers = callersOf(dispatch);
      return chatStream({ callers, native, words, context: contextOf(dispatch, callers) }, dispatch);
    },
  };
}

/** A vendor that only names its answer, and what it has read for it, may still say that there will be none. */
function onlyBeginning({ createEventReader }: Dialect): (event: SseEvent) => boolean {
  const read = createEventReader();
  return (event) => read(event).every(({ kind }) => kind === "start" || kind === "usage");
}

/** The vendor's own and the caller's; copied only where there are both. */
const headersOf = ({ headers = none }: NativeChat, forwarded: Headers = none): Headers =>
  headers === none ? forwarded : { ...headers, ...forwarded };

type Headers = Readonly<Record<string, string>>;
const none: Headers = Object.freeze({});

function translate(from: SpokenDialect, to: Dialect, native: NativeChat, dispatch: Dispatch): JsonObject {
  const model = modelOf(dispatch);
  const asked = { model: model.name, stream: dispatch.streaming };
  const written = withExactNumbers(dispatch.input.body, Buffer.from(dispatch.input.rawBody).toString());
  const body = objectOrEmpty(written);
  const read = from.readRequest(body, asked);
  if (from.name === "anthropic" && read.messages.findLast(isSaid)?.role === "assistant") {
    throw new Inexpressible("messages", "only a model of Anthropic's goes on with what the assistant began");
  }
  // A caller who speaks to another vendor's model asks for what theirs can write; more than it can, none does.
  const { unaskedOutputTokensMax: usual, outputTokensMax: most = Number.POSITIVE_INFINITY } = model;
  const outputTokensMax = Math.min(read.outputTokensMax ?? usual, most);
  const hearer = { takesInstructionsAnywhere: native.takesInstructionsAnywhere?.(dispatch) ?? false };
  const request = writeFor(from, () =>
    to.writeRequest(withTakenNames({ ...read, outputTokensMax }, to), hearer),
  );
  return native.completeBody(request, dispatch);
}

const contextOf = (dispatch: Dispatch, callers: SpokenDialect): WriteContext => ({
  id: dispatch.callId.replaceAll("-", ""),
  model: modelOf(dispatch).askedAs,
  createdSeconds: dispatch.createdSeconds,
  includeUsage: asksForUsage(dispatch.input.body),
  askedAgain: callers.saidAgain?.(objectOrEmpty(dispatch.input.body)),
});

/** Only the OpenAI dialect lets a caller ask for usage at the end of a stream. */
export function asksForUsage(body: unknown): boolean {
  const options = objectOrEmpty(body)["stream_options"];
  return isJsonObject(options) && options["include_usage"] === true;
}
