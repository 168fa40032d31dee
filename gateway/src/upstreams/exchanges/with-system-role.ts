// OpenAI calls instructions "developer" where others know "system" alone, and refuse the message (DeepSeek, Alibaba, Zhipu and
// Mistral do). Its own clients and many agents say the newer word to whatever model they call. To OpenAI both are the same.

import type { CallInput } from "../../operation/call-input.ts";
import type { Upstream } from "../../operation/upstream.ts";
import { isOpenAiItself } from "../../operation/vendor-addresses.ts";
import { objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import { rewritten, type ForeignRule } from "./without-marked.ts";

/** A caller's own body with the older word where it goes to another vendor; every other byte stays as it was written. */
export const withSystemRole = (
  input: CallInput,
  messages: "messages" | "input",
  upstream: Pick<Upstream, "url">,
): CallInput =>
  isOpenAiItself(upstream) || !objectsIn(objectOrEmpty(input.body)[messages]).some(isDevelopers)
    ? input
    : rewritten(input, rules[messages]);

/** Among the items of a response there are others than messages that have a role. */
const isDevelopers = ({ role, type = "message" }: JsonObject): boolean =>
  role === "developer" && type === "message";

const ruleFor = (messages: string): ForeignRule => ({
  words: ['"developer"'],
  places: { [messages]: {} },
  judge: (message) => (isDevelopers(message) ? ["role"] : []),
  instead: () => "system",
});

const rules = { messages: ruleFor("messages"), input: ruleFor("input") };
