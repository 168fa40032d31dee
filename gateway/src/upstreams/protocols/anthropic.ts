import { chatExchange } from "../exchanges/chat-exchange.ts";
import { anthropicDialect } from "../dialects/anthropic/anthropic-dialect.ts";
import { blocksOfTurn, calledWithoutThought } from "../dialects/anthropic/thinking.ts";
import { errorBodyOf, readErrorMessage } from "../dialects/dialect-errors.ts";
import type { NativeChat } from "../exchanges/native-chat.ts";
import type { Protocol } from "../protocol.ts";
import { isJsonObject, objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import { countTokens } from "../exchanges/count-tokens.ts";
import type { Dispatch } from "../../operation/forwarder.ts";
import { isMarked, markStart } from "../dialects/marks.ts";
import { nativeBody } from "../exchanges/native-body.ts";
import { detailsCodeOf, errorIn } from "../answers/hidden-error.ts";
import { readListing } from "../answers/read-listing.ts";
import { withToolUseIds } from "../exchanges/with-tool-use-ids.ts";
import { withoutMarked, type ForeignRule } from "../exchanges/without-marked.ts";

const headers = { "anthropic-version": "2023-06-01" };

const native: NativeChat = {
  dialect: anthropicDialect,
  path: () => "/messages",
  headers,
  nativeBody: ownBody,
  completeBody: (body, { streaming }) => ({ ...body, stream: streaming }),
  keepsAnswer: ({ input: { body } }) => isJsonObject(body) && isJsonObject(body["thread"]),
  isKeptElsewhere: (status, json) =>
    status === 404 && detailsCodeOf(errorIn(errorBodyOf(json))) === "thread_not_found",
  // In a stream the first figures come inside the message that it begins with.
  usageOf: (json) => (isJsonObject(json["message"]) ? json["message"]["usage"] : json["usage"]),
};

export const anthropic: Protocol = {
  listing: {
    path: "/models?limit=1000",
    headers,
    read: readListing({ list: "data", name: "id", hasMore: (json) => json["has_more"] === true }),
  },
  isAboutOperator: (status, json) => isOutOfCredit(status, json) || isShutOut(status, json),
  isOutOfCredit,
  exchanges: {
    chat: chatExchange(native),
    count_tokens: countTokens({
      dialect: anthropicDialect,
      path: () => "/messages/count_tokens",
      headers,
      nativeBody: ownBody,
      // Only what makes the prompt is wanted; a limit or a temperature would be refused.
      write: (request) => {
        const { model, system, messages, tools, tool_choice, thinking, output_config } =
          anthropicDialect.writeRequest(request);
        return { model, system, messages, tools, tool_choice, thinking, output_config };
      },
      countIn: (json) => json["input_tokens"],
    }),
  },
};

/** An account without money, or at the limit that its owner set, is told so as if the request were wrong. */
function isOutOfCredit(status: number, json: unknown): boolean {
  return status === 400 && aboutCredit.test(readErrorMessage(json));
}

const aboutCredit =
  /^(?:your credit balance is too low|you have reached your specified (?:workspace )?api usage limits)\b/i;

/** So is one that is not served, whoever asks. Only some of these have a code. */
function isShutOut(status: number, json: unknown): boolean {
  if (status !== 400) return false;
  const code = detailsCodeOf(errorIn(errorBodyOf(json)));
  return shutOutCodes.has(code) || /^this organization has been disabled\b/i.test(readErrorMessage(json));
}

const shutOutCodes: ReadonlySet<unknown> = new Set([
  "organization_on_hold",
  "cmek_key_disabled",
  "cmek_key_network_blocked",
]);

/** Anthropic takes back only what it signed itself. */
const foreign: ForeignRule = {
  words: [markStart],
  places: { messages: { content: {} } },
  judge: ({ type, signature, data }) => {
    const told = type === "thinking" ? signature : type === "redacted_thinking" ? data : undefined;
    return typeof told === "string" && isMarked(told) ? "all" : [];
  },
};

function ownBody({ input }: Dispatch): string | Uint8Array {
  const own = withoutMarked(input, foreign);
  const body = objectOrEmpty(own.body);
  // By its id a call is known for another vendor's, so ids change after that.
  const set = withoutThinking(body, own !== input);
  return nativeBody(withToolUseIds(own).rawBody, body, set);
}

const nothing = Object.freeze({});

/**
 * Where a model of another vendor's called, one that is given a budget may not think before it has the results, nor clear
 * thoughts. A history that Anthropic wrote alone is never touched.
 */
function withoutThinking(body: JsonObject, wasMarked: boolean): JsonObject {
  const { thinking, context_management: management } = body;
  if (!isJsonObject(thinking) || thinking["type"] !== "enabled") return nothing;
  const messages = objectsIn(body["messages"]);
  if (!calledWithoutThought(messages)) return nothing;
  if (!wasMarked && !blocksOfTurn(messages).some(isForeignCall)) return nothing;
  const edits = objectOrEmpty(management)["edits"];
  if (!Array.isArray(edits)) return { thinking: undefined };
  const others = edits.filter((edit) => !(isJsonObject(edit) && clearsThoughts.test(String(edit["type"]))));
  return {
    thinking: undefined,
    context_management: others.length === 0 ? undefined : { edits: others },
  };
}

const clearsThoughts = /^clear_thinking_/;

/** Where a model neither thought nor signed, only the id of its call says that it was not Anthropic's. */
const isForeignCall = ({ type, id }: JsonObject): boolean =>
  type === "tool_use" && typeof id === "string" && !id.startsWith("toolu_");
