// How many tokens a conversation would be, free of charge: the vendor of the model says it where it can, in whichever
// dialect it is asked; a vendor that has no such service is estimated for.

import { modelOf, type Dispatch } from "../../operation/forwarder.ts";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { textIn, type ChatPart, type ChatRequest } from "../dialects/chat.ts";
import { writeFor } from "../dialects/callers-names.ts";
import { readErrorMessage, writeDialectError } from "../dialects/dialect-errors.ts";
import type { Dialect, SpokenDialect } from "../dialects/dialect.ts";
import { spokenDialects } from "../dialects/dialects.ts";
import type { Exchange } from "../protocol.ts";
import { guessTokens } from "../../prices/guess-tokens.ts";
import { readCount } from "../../prices/read-count.ts";
import { withTakenNames } from "./tool-names.ts";

/** What is particular about a vendor that counts. */
interface Counter {
  readonly dialect: Dialect;
  readonly path: (dispatch: Dispatch) => string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller's own body, for callers that speak this dialect. */
  readonly nativeBody: (dispatch: Dispatch) => string | Uint8Array;
  /** A conversation in this vendor's words, as its count wants it. */
  readonly write: (request: ChatRequest) => JsonObject;
  /** Where the answer says it. */
  readonly countIn: (json: JsonObject) => unknown;
}

export function countTokens({ dialect, path, headers, nativeBody, write, countIn }: Counter): Exchange {
  const written = (request: ChatRequest, callers: SpokenDialect): JsonObject =>
    writeFor(callers, () => write(withTakenNames(request, dialect)));

  return {
    request: (dispatch) => {
      const callers = callersOf(dispatch);
      const same = callers === dialect;
      return {
        method: "POST",
        path: path(dispatch),
        body: same ? nativeBody(dispatch) : JSON.stringify(written(readRequest(dispatch), callers)),
        headers: same ? { ...headers, ...dispatch.forwarded } : { ...headers },
      };
    },
    read: (json, dispatch) => {
      const tokens = isJsonObject(json) ? readCount(countIn(json), "tokens", []) : undefined;
      const same = callersOf(dispatch) === dialect;
      return same || tokens === undefined ? {} : { json: sayCount(callersOf(dispatch), tokens) };
    },
    readError: (status, json, dispatch) => {
      const callers = callersOf(dispatch);
      return callers === dialect
        ? undefined
        : writeDialectError(callers.name, status, readErrorMessage(json));
    },
  };
}

/** For vendors that do not count. */
export const estimateTokens: Exchange = {
  request: (dispatch) => ({ answer: sayCount(callersOf(dispatch), estimate(readRequest(dispatch))) }),
  read: () => ({}),
};

function callersOf({ service }: Dispatch): SpokenDialect {
  if (!service.dialect) throw new Error("A count of tokens is asked for in no dialect.");
  return spokenDialects[service.dialect];
}

function readRequest(dispatch: Dispatch): ChatRequest {
  const body = objectOrEmpty(dispatch.input.body);
  // Gemini's callers may wrap the whole request they mean to send.
  const wrapped = body["generateContentRequest"] ?? body["generate_content_request"];
  const asked = { model: modelOf(dispatch).name, stream: false };
  return callersOf(dispatch).readRequest(isJsonObject(wrapped) ? wrapped : body, asked);
}

const sayCount = ({ name }: SpokenDialect, tokens: number): JsonObject =>
  name === "gemini" ? { totalTokens: tokens } : { input_tokens: tokens };

/** What vendors add around a message, and about what an image or a page comes to, in tokens. */
const tokensPerMessage = 4;
const tokensPerImage = 1_000;

function estimate({ system, messages, tools, output }: ChatRequest): number {
  const parts = [...system, ...messages.flatMap((message) => message.parts)].flatMap(withResults);
  const images = parts.filter(({ kind }) => kind === "image" || kind === "file").length;
  const texts = [
    ...parts.map(textIn),
    ...tools.map(({ name, description = "", parameters }) => name + description + JSON.stringify(parameters)),
    ...(output?.kind === "json_schema" ? [JSON.stringify(output.schema)] : []),
  ];
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return guessTokens(bytes) + messages.length * tokensPerMessage + images * tokensPerImage;
}

const withResults = (part: ChatPart): readonly ChatPart[] =>
  part.kind === "tool_result" ? part.content : [part];
