import { chatExchange, type NativeChat } from "../chat-exchange.ts";
import { anthropicDialect } from "../dialects/anthropic/anthropic-dialect.ts";
import { readErrorMessage } from "../dialects/dialect-errors.ts";
import { dialects } from "../dialects/dialects.ts";
import type { Protocol } from "../protocol.ts";
import { isJsonObject } from "../../platform/json.ts";
import { countTokens } from "./count-tokens.ts";
import { nativeBody } from "./native-body.ts";
import { readListing } from "./read-listing.ts";

const headers = { "anthropic-version": "2023-06-01" };

const native: NativeChat = {
  dialect: anthropicDialect,
  path: () => "/messages",
  headers,
  nativeBody: ({ input }) => nativeBody(input.rawBody, input.body, {}),
  completeBody: (body, { streaming }) => ({ ...body, stream: streaming }),
  // In a stream the first figures come inside the message that it begins with.
  usageOf: (json) => (isJsonObject(json["message"]) ? json["message"]["usage"] : json["usage"]),
};

export const anthropic: Protocol = {
  listing: {
    path: "/models?limit=1000",
    headers,
    read: readListing({ list: "data", name: "id", hasMore: (json) => json["has_more"] === true }),
  },
  // An account without money is told so as if the request were wrong.
  isAboutOperator: (status, json) =>
    status === 400 && /^your credit balance is too low\b/i.test(readErrorMessage(json)),
  exchanges: {
    chat: chatExchange(native, dialects),
    count_tokens: countTokens({
      dialect: anthropicDialect,
      path: () => "/messages/count_tokens",
      headers,
      // Only what makes the prompt is wanted; a limit or a temperature would be refused.
      write: (request) => {
        const { model, system, messages, tools, tool_choice, thinking } =
          anthropicDialect.writeRequest(request);
        return { model, system, messages, tools, tool_choice, thinking };
      },
      countIn: (json) => json["input_tokens"],
    }),
  },
};
