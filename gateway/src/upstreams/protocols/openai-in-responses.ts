// OpenAI's newest models take tools in a chat completion only while they do not think, or not at all. Callers of other vendors'
// dialects, whose requests are written anew in any case, have such a model asked in Responses, where it does both.

import { modelOf, type Dispatch } from "../../operation/forwarder.ts";
import { objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { spokenDialects } from "../dialects/dialects.ts";
import { besideToolsOf } from "../dialects/openai/effort.ts";
import { responsesDialect } from "../dialects/responses/responses-dialect.ts";
import { sayable, withoutThoughts } from "../dialects/responses/write-request.ts";
import { chatExchange } from "../exchanges/chat-exchange.ts";
import { isResponseKeptElsewhere, responsesBody } from "../exchanges/openai-responses.ts";
import { isFailed, onlyBegins, responseEvents } from "../exchanges/responses-events.ts";

export const chatInResponses = chatExchange({
  dialect: responsesDialect,
  path: () => "/responses",
  nativeBody: responsesBody,
  completeBody: (body) => body,
  takesInstructionsAnywhere: () => true,
  asEvents: responseEvents,
  isKeptElsewhere: isResponseKeptElsewhere,
  withoutKept: withoutThoughts,
  beginnings: () => onlyBegins,
  gaveUp: isFailed,
  usageOf: (json) => objectOrEmpty(json["response"])["usage"] ?? json["usage"],
});

/** Whether a chat completion would get less of the model that this call asks. */
export function isLessInCompletions(dispatch: Dispatch): boolean {
  const { service, upstream, input, streaming } = dispatch;
  if (upstream.responses !== "native" || service.dialect === undefined || service.dialect === "openai") {
    return false;
  }
  const model = modelOf(dispatch).name;
  const besideTools = besideToolsOf(model);
  if (besideTools === undefined) return false;
  const callers = spokenDialects[service.dialect];
  const body = objectOrEmpty(input.body);
  const request = callers.readRequest(withoutConversation(body), { model, stream: streaming });
  // Google's clients leave it to the model how much it thinks, and want to see what.
  const wantsThinking = request.reasoning ? request.reasoning !== "off" : callers.asksForThoughts(body);
  return request.tools.length > 0 && (wantsThinking || besideTools === "refused") && sayable(request);
}

/** What was said decides nothing of it, is nearly all of what agents send, and is read once more to be written. */
const withoutConversation = (body: JsonObject): JsonObject => ({
  ...body,
  ...(Array.isArray(body["messages"]) && { messages: [] }),
  ...(Array.isArray(body["contents"]) && { contents: [] }),
});
