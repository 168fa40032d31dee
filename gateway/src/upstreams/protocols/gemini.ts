import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { chatExchange, type NativeChat } from "../chat-exchange.ts";
import { dialects } from "../dialects/dialects.ts";
import { geminiDialect } from "../dialects/gemini/gemini-dialect.ts";
import type { Protocol } from "../protocol.ts";
import { countTokens } from "./count-tokens.ts";
import { nativeBody } from "./native-body.ts";
import { readListing } from "./read-listing.ts";

const native: NativeChat = {
  dialect: geminiDialect,
  path: ({ model = "", streaming }) =>
    `/models/${encodeURIComponent(model)}:${streaming ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  nativeBody: ({ input, maxOutputTokens }) => {
    const body = isJsonObject(input.body) ? input.body : {};
    return nativeBody(input.rawBody, body, limitAdded(body, maxOutputTokens));
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
  // Google says 400 about a key that it does not know, or no longer.
  isAboutOperator: (status, json) => status === 400 && reasonsIn(json).includes("API_KEY_INVALID"),
  exchanges: {
    chat: chatExchange(native, dialects),
    count_tokens: countTokens({
      dialect: geminiDialect,
      path: ({ model = "" }) => `/models/${encodeURIComponent(model)}:countTokens`,
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

function reasonsIn(json: unknown): readonly unknown[] {
  const error = isJsonObject(json) ? json["error"] : undefined;
  const details = isJsonObject(error) ? error["details"] : undefined;
  return Array.isArray(details) ? details.filter(isJsonObject).map(({ reason }) => reason) : [];
}

/** The limit the hold was computed from, where the caller set none; in the caller's spelling, for two would be read as one. */
function limitAdded(body: JsonObject, maxOutputTokens: number | undefined): Record<string, unknown> {
  const name = "generation_config" in body ? "generation_config" : "generationConfig";
  const config = isJsonObject(body[name]) ? body[name] : {};
  const limit = "max_output_tokens" in config ? "max_output_tokens" : "maxOutputTokens";
  if (maxOutputTokens === undefined || typeof config[limit] === "number") return {};
  return { [name]: { ...config, [limit]: maxOutputTokens } };
}
