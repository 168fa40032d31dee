import type { CallInput } from "../../operation/call-input.ts";
import type { Upstream } from "../../operation/upstream.ts";
import { isMistral, isOpenAiItself, refusesUnknownMembers } from "../../operation/vendor-addresses.ts";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { markStart } from "../dialects/marks.ts";
import { isThought, textOf } from "../dialects/openai/answer-members.ts";
import { shortIds } from "../dialects/openai/call-ids.ts";
import { mistralIds } from "../dialects/openai/told-to-mistral.ts";
import { withTakenCallIds } from "../exchanges/taken-call-ids.ts";
import { withSystemRole } from "../exchanges/with-system-role.ts";
import { withoutMarked, type ForeignRule } from "../exchanges/without-marked.ts";

/** The call with the caller's own body as this upstream takes it. */
export function ownInput(input: CallInput, upstream: Pick<Upstream, "url">): CallInput {
  const foreign = foreignTo(upstream);
  const own = withoutMarked(withSystemRole(input, "messages", upstream), foreign);
  if (foreign === foreignToMistral) return withTakenCallIds(own, mistralIds);
  return isOpenAiItself(upstream) ? withTakenCallIds(own, shortIds) : own;
}

/** What is taken out of it. */
function foreignTo(upstream: Pick<Upstream, "url">): ForeignRule {
  if (isOpenAiItself(upstream)) return foreignToOpenAi;
  if (!refusesUnknownMembers(upstream)) return foreignToOthers;
  return isMistral(upstream) ? foreignToMistral : foreignToOpenAi;
}

const places = { messages: { tool_calls: {} } };

/**
 * Other vendors tell their thoughts and sign their calls in members that OpenAI does not know, and it refuses what it does
 * not know, as a few that speak like it do. Other compatible vendors may want them back.
 */
const foreignToMistral: ForeignRule = {
  words: ['"reasoning_content"', '"extra_content"'],
  places,
  judge: (object) => {
    if (object["role"] === "assistant") return "reasoning_content" in object ? ["reasoning_content"] : [];
    const isCall = object["type"] === "function" && isJsonObject(object["function"]);
    return isCall && "extra_content" in object ? ["extra_content"] : [];
  },
};

/** Mistral alone knows thoughts among the parts of what was said: of these, what was said stays. */
const foreignToOpenAi: ForeignRule = {
  words: [...foreignToMistral.words, '"thinking"'],
  places,
  judge: (object) => {
    const members = foreignToMistral.judge(object);
    return members !== "all" && hasThoughts(object) ? [...members, "content"] : members;
  },
  instead: ({ content }, member) => (member === "content" ? textOf(content) : undefined),
};

const hasThoughts = ({ role, content }: JsonObject): boolean =>
  role === "assistant" && Array.isArray(content) && content.some(isThought);

/** A token that we carried for another vendor is for nobody else. What has no mark may be the vendor's own. */
const foreignToOthers: ForeignRule = {
  words: [markStart],
  places,
  judge: ({ extra_content: extra }) => {
    const google = objectOrEmpty(extra)["google"];
    const signature = objectOrEmpty(google)["thought_signature"];
    return typeof signature === "string" && signature.startsWith(markStart) ? ["extra_content"] : [];
  },
};
