import type { Dispatch } from "../../operation/forwarder.ts";
import { isMistral, isOpenAiItself } from "../../operation/vendor-addresses.ts";
import { isJsonObject, objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import { asksForUsage, chatExchange } from "../exchanges/chat-exchange.ts";
import { shortIds, withTakenIds } from "../dialects/openai/call-ids.ts";
import { openaiDialect } from "../dialects/openai/openai-dialect.ts";
import { errorBodyOf, readErrorMessage } from "../dialects/dialect-errors.ts";
import type { NativeChat } from "../exchanges/native-chat.ts";
import type { Exchange, Protocol } from "../protocol.ts";
import type { SseFrame } from "../streams/sse.ts";
import { estimateTokens } from "../exchanges/count-tokens.ts";
import { nativeBody } from "../exchanges/native-body.ts";
import { openaiEmbeddings } from "../exchanges/openai-embeddings.ts";
import { openaiImages } from "../exchanges/openai-images.ts";
import { chatInResponses, isLessInCompletions } from "./openai-in-responses.ts";
import { ownInput } from "./openai-itself.ts";
import { openaiResponses } from "../exchanges/openai-responses.ts";
import { limitChanges, withLimitWord } from "../exchanges/output-limit.ts";
import { isAboutGoogleAccount } from "../answers/google-refusal.ts";
import { errorIn } from "../answers/hidden-error.ts";
import { readListing } from "../answers/read-listing.ts";

const native: NativeChat = {
  dialect: openaiDialect,
  path: () => "/chat/completions",
  nativeBody: (dispatch) => {
    const { input, upstream } = dispatch;
    const { rawBody, body } = ownInput(input, upstream);
    return nativeBody(rawBody, body, changes(objectOrEmpty(body), dispatch));
  },
  completeBody: (body, dispatch) => ({
    ...withLimitWord(body, dispatch),
    ...(isOpenAiItself(dispatch.upstream) ? { messages: withShortIds(body["messages"]) } : {}),
    // The dialect asks by itself.
    ...(mayBeAsked(dispatch) ? {} : { stream_options: undefined }),
    ...(isMistral(dispatch.upstream) ? { user: undefined, seed: undefined, random_seed: body["seed"] } : {}),
  }),
  takesInstructionsAnywhere: ({ upstream }) => isOpenAiItself(upstream),
  showFrame: (frame, { includeUsage }) => (includeUsage ? undefined : withoutUsage(frame)),
  answerIn: (status, json) =>
    status === 400 && spentInThought.test(readErrorMessage(json)) ? nothingSaid : undefined,
  usageOf: (json) => json["usage"],
};

const withShortIds = (messages: unknown): readonly JsonObject[] =>
  objectsIn(messages).map((message) => withTakenIds(message, shortIds));

/** As OpenAI says it where the limit came before the first word, because the model still thought. */
const spentInThought =
  /^could not finish the message because max_tokens or model output limit was reached\b/i;

const nothingSaid: JsonObject = {
  choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "length" }],
};

const chat = chatExchange(native);

/** Who does not know Responses is asked for a chat completion, and who does is asked in them where that gets more of a model. */
function exchangeInstead(dispatch: Dispatch): Exchange | undefined {
  const { exchange } = dispatch.service;
  if (exchange === "responses") return dispatch.upstream.responses === "translated" ? chat : undefined;
  return exchange === "chat" && isLessInCompletions(dispatch) ? chatInResponses : undefined;
}

export const openai: Protocol = {
  exchangeInstead,
  isAboutOperator: (status, json) =>
    isAboutGoogleAccount(status, json) || (status === 400 && isAboutOurAccount(json)),
  callersError: (status, json) =>
    status === 403 && aboutContent.test(readErrorMessage(json))
      ? { status, json: { code: "permission-denied", error: "Content violates usage guidelines." } }
      : undefined,
  listing: { path: "/models", read: readListing({ list: "data", name: "id" }) },
  exchanges: {
    chat,
    responses: openaiResponses,
    embeddings: openaiEmbeddings,
    images: openaiImages,
    count_tokens: estimateTokens,
  },
};

const isAboutOurAccount = (json: unknown): boolean =>
  aboutOurAccount.test(readErrorMessage(json)) || errorIn(errorBodyOf(json))["code"] === restrictedByGroq;

const restrictedByGroq = "organization_restricted";

/** As xAI says it of a key, of which it shows a part, and OpenAI of an organization that may not use a model yet. */
const aboutOurAccount = /^(?:incorrect api key provided|your organization must be verified)\b/i;

/** As xAI says it; it may go on with the operator's team and the id of the key, so only its first sentence is told. */
const aboutContent = /^content violates usage guidelines\b/i;

/** The limit that the hold was computed from, and usage at a stream's end. */
function changes(body: JsonObject, dispatch: Dispatch): Readonly<Record<string, unknown>> {
  const limit = limitChanges(body, dispatch);
  // A caller who asks for it gets what such a vendor tells unasked, and not a refusal.
  if (!mayBeAsked(dispatch))
    return "stream_options" in body ? { ...limit, stream_options: undefined } : limit;
  if (!dispatch.streaming || asksForUsage(body)) return limit;
  return { ...limit, ...usageAsked(body["stream_options"]) };
}

const mayBeAsked = ({ upstream }: Dispatch): boolean => upstream.streamUsage === "ask";

const usageAsked = (options: unknown): Record<string, unknown> => ({
  stream_options: { ...objectOrEmpty(options), include_usage: true },
});

/** Hides what the vendor sends only because we asked for usage: a chunk of its own, and a null in every other. */
function withoutUsage({ text, event }: SseFrame): string | undefined {
  if (event === undefined || !event.data.includes('"usage"')) return undefined;
  try {
    const chunk: unknown = JSON.parse(event.data);
    if (!isJsonObject(chunk)) return undefined;
    if (Array.isArray(chunk["choices"]) && chunk["choices"].length === 0 && isJsonObject(chunk["usage"]))
      return "";
    // Inside a JSON string the quotes would be escaped, so this can only be the member itself.
    return chunk["usage"] === null ? text.replace(/,\s*"usage"\s*:\s*null/, "") : undefined;
  } catch {
    return undefined;
  }
}
