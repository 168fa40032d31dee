import type { CallInput } from "../../operation/call-input.ts";
import { modelOf, type Dispatch } from "../../operation/forwarder.ts";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { chatExchange } from "../exchanges/chat-exchange.ts";
import { readErrorMessage } from "../dialects/dialect-errors.ts";
import { geminiDialect } from "../dialects/gemini/gemini-dialect.ts";
import { isBeforeGemini3 } from "../dialects/gemini/gemini-version.ts";
import { unsigned } from "../dialects/gemini/signatures.ts";
import { markStart, readMarked } from "../dialects/marks.ts";
import type { NativeChat } from "../exchanges/native-chat.ts";
import type { Protocol } from "../protocol.ts";
import { googleDetailsIn, isAboutGoogleAccount } from "../answers/google-refusal.ts";
import { readDelaySeconds } from "../answers/retry-after.ts";
import { countTokens } from "../exchanges/count-tokens.ts";
import { nativeBody } from "../exchanges/native-body.ts";
import { readListing } from "../answers/read-listing.ts";
import { withoutMarked, type ForeignRule, type Places } from "../exchanges/without-marked.ts";

const native: NativeChat = {
  dialect: geminiDialect,
  path: (dispatch) =>
    `/models/${encodeURIComponent(modelOf(dispatch).name)}:${dispatch.streaming ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  nativeBody: (dispatch) => {
    const { rawBody, body: parsed } = ownInput(dispatch);
    const body = objectOrEmpty(parsed);
    const limit = limitAdded(body, modelOf(dispatch).unaskedOutputTokensMax);
    return nativeBody(rawBody, body, { ...limit, ...textWrittenOut(body) });
  },
  completeBody: (body) => body,
  usageOf: (json) => json["usageMetadata"],
};

export const gemini: Protocol = {
  listing: {
    path: "/models?pageSize=1000",
    read: (json) => {
      const listed = resources(json);
      return listed && { ...listed, models: listed.models.map((name) => name.replace(/^models\//, "")) };
    },
  },
  isAboutOperator: isAboutGoogleAccount,
  // A file that the caller names may be nobody's, or another's.
  callersError: (status, json) =>
    status === 403 && /^you do not have permission to access the file\b/i.test(readErrorMessage(json))
      ? { status, json }
      : undefined,
  waitToldIn: (json) =>
    readDelaySeconds(
      googleDetailsIn(json).find(({ retryDelay }) => retryDelay !== undefined)?.["retryDelay"],
    ),
  exchanges: {
    chat: chatExchange(native),
    count_tokens: countTokens({
      dialect: geminiDialect,
      path: (dispatch) => `/models/${encodeURIComponent(modelOf(dispatch).name)}:countTokens`,
      nativeBody: (dispatch) => {
        const { rawBody, body } = ownInput(dispatch);
        return nativeBody(rawBody, body, isJsonObject(body) ? textWrittenOut(body) : {});
      },
      write: (request) => ({
        generateContentRequest: {
          model: `models/${request.model}`,
          ...geminiDialect.writeRequest(request),
        },
      }),
      countIn: (json) => json["totalTokens"],
    }),
  },
};

const resources = readListing({
  list: "models",
  name: "name",
  hasMore: (json) => typeof json["nextPageToken"] === "string",
});

/** The limit the hold was computed from, where the caller set none; in the caller's spelling, for two would be read as one. */
function limitAdded(body: JsonObject, unaskedOutputTokensMax: number): Record<string, unknown> {
  const name = "generation_config" in body ? "generation_config" : "generationConfig";
  const config = objectOrEmpty(body[name]);
  const limit = "max_output_tokens" in config ? "max_output_tokens" : "maxOutputTokens";
  if (typeof config[limit] === "number") return {};
  return { [name]: { ...config, [limit]: unaskedOutputTokensMax } };
}

/** Contents that are a text alone, which Google's clients write out by themselves, and Google does not take. */
function textWrittenOut(body: JsonObject): JsonObject {
  const { contents } = body;
  if (typeof contents === "string") return { contents: [{ role: "user", parts: [{ text: contents }] }] };
  for (const name of wrappers) {
    const wrapped = body[name];
    if (isJsonObject(wrapped) && typeof wrapped["contents"] === "string")
      return { [name]: { ...wrapped, ...textWrittenOut(wrapped) } };
  }
  return {};
}

/** A count may be asked for with the whole request that it is about. */
const wrappers = ["generateContentRequest", "generate_content_request"];

const signatures = ["thoughtSignature", "thought_signature"];

const places: Places = { contents: { parts: {} } };

/** Google takes back what it signed itself; the models that ask for signatures also take the word for "not signed". */
const foreignTo = (words: readonly string[]): ForeignRule => ({
  words,
  places: { ...places, generateContentRequest: places, generate_content_request: places },
  judge: (part) => {
    const gone = signatures.filter((name) => {
      const signature = part[name];
      return typeof signature === "string" && words.some((word) => signature.startsWith(word));
    });
    // A thought that another vendor sealed says nothing.
    return gone.length > 0 && part["thought"] === true && part["text"] === "" ? "all" : gone;
  },
});

const foreign: ForeignRule = {
  ...foreignTo([markStart]),
  instead: (part, member) => (isUnsignedCall(part, part[member]) ? unsigned : undefined),
};
const foreignBefore3 = foreignTo([markStart, unsigned]);

const isUnsignedCall = (part: JsonObject, signature: unknown): boolean =>
  ("functionCall" in part || "function_call" in part) &&
  typeof signature === "string" &&
  readMarked(signature)?.mark === "unsigned";

const ownInput = (dispatch: Dispatch): CallInput =>
  withoutMarked(dispatch.input, isBeforeGemini3(modelOf(dispatch).name) ? foreignBefore3 : foreign);
