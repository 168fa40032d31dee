import type { Upstream } from "../../operation/upstream.ts";
import { isJsonObject } from "../../platform/json.ts";
import type { ForeignRule } from "./without-marked.ts";

/** Many vendors speak OpenAI's dialect; this one is OpenAI, or Azure in its place. */
export const isOpenAiItself = ({ url }: Pick<Upstream, "url">): boolean => address.test(url);

const address = /^https:\/\/([\w-]+\.)?(api\.openai\.com|openai\.azure\.com)(?=[:/]|$)/i;

/**
 * Other vendors tell their thoughts and sign their calls in members that OpenAI does not know, and it refuses what it does
 * not know. Compatible vendors may want them back.
 */
export const foreignToOpenAi: ForeignRule = {
  words: ['"reasoning_content"', '"extra_content"'],
  places: { messages: { tool_calls: {} } },
  judge: (object) => {
    if (object["role"] === "assistant") return "reasoning_content" in object ? ["reasoning_content"] : [];
    const isCall = object["type"] === "function" && isJsonObject(object["function"]);
    return isCall && "extra_content" in object ? ["extra_content"] : [];
  },
};
