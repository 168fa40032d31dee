// What the stand-in model says: a sentence or a tool call that follows from the conversation alone.
import { createSeeded, fingerprint } from "../seeded.ts";
import { countTokens, cutToTokens } from "../tokens.ts";
import { sampleOf } from "./schema-sample.ts";
import type { JsonObject } from "../vendor.ts";
import type { ChatRequest, ChatTool } from "./openai-request.ts";

export interface Reply {
  readonly message: JsonObject;
  readonly finishReason: "stop" | "length" | "tool_calls";
  readonly tokens: number;
}

// What the stand-in model can say at most, whatever it is asked to repeat.
const modelTokensMax = 4096;

export const replyTo = (request: ChatRequest, index: number): Reply => {
  const asked = request.messages.findLast(({ role }) => role === "user")?.text ?? "";
  const called = toolFor(request, asked);
  const tokensMax = Math.min(request.tokensMax, modelTokensMax);
  if (called !== undefined) return callTool(called, `${asked} ${index}`, tokensMax);

  const full =
    request.answerSchema === undefined ? sayTo(request, asked, index) : jsonTo(request.answerSchema, asked);
  const stopped = cutAtStop(full, request.stop);
  const { text, cut } = cutToTokens(stopped, tokensMax);
  return {
    message: { role: "assistant", content: text, refusal: null, annotations: [] },
    finishReason: cut ? "length" : "stop",
    tokens: countTokens(text),
  };
};

const toolFor = ({ tools, toolChoice, messages }: ChatRequest, asked: string): ChatTool | undefined => {
  if (toolChoice === "none") return undefined;
  if (typeof toolChoice === "object") return tools.find(({ name }) => name === toolChoice.name);

  const mentioned = tools.find(({ name }) => asked.includes(name));
  if (toolChoice === "required") return mentioned ?? tools[0];
  // Once the tool has answered, an agent's loop must come to an end.
  return messages.at(-1)?.role === "tool" ? undefined : mentioned;
};

/** The limit cuts arguments too, in the middle of their JSON, as the vendor's does. */
const callTool = ({ name, parameters }: ChatTool, seed: string, tokensMax: number): Reply => {
  const { text, cut } = cutToTokens(JSON.stringify(sampleOf(parameters, seed)), tokensMax);
  const id = `call_${fingerprint(`${name} ${seed}`).slice(0, 24)}`;
  const call = { id, type: "function", function: { name, arguments: text } };
  return {
    message: { role: "assistant", content: null, refusal: null, annotations: [], tool_calls: [call] },
    finishReason: cut ? "length" : "tool_calls",
    tokens: countTokens(text),
  };
};

const sayTo = ({ messages }: ChatRequest, asked: string, index: number): string => {
  const last = messages.at(-1);
  if (last?.role === "tool")
    return `The tool answered: ${excerpt(last.text)}. That settles your question about ${topicOf(asked)}.`;

  const seeded = createSeeded(`${asked} ${index}`);
  const opening = seeded.pick(["You asked", "Your message says", "I read", "You wrote"]);
  const middle = seeded.pick([
    "The short answer is that it depends on",
    "The first thing to look at is",
    "What matters most here is",
    "A good place to begin is",
  ]);
  const end = seeded.pick([
    "Tell me more and I can be more exact.",
    "Take it in small steps and check each one.",
    "Measure before you change anything.",
    "Write down what you expect, then compare.",
  ]);
  return `${opening}: "${excerpt(asked)}". ${middle} ${topicOf(asked)}. ${end}`;
};

const jsonTo = (schema: JsonObject, asked: string): string =>
  JSON.stringify(Object.keys(schema).length === 0 ? { answer: excerpt(asked) } : sampleOf(schema, asked));

const excerpt = (text: string): string => {
  const words = text.split(/\s+/).filter((word) => word !== "");
  const short = words.slice(0, 24).join(" ").slice(0, 200);
  return short.length < words.join(" ").length ? `${short} …` : short;
};

/** Its longest word: as good a guess as any, and a stable one. */
const topicOf = (text: string): string => {
  const words = text.match(/[\p{L}\p{N}_-]+/gu) ?? [];
  return (
    words.reduce((longest, word) => (word.length > longest.length ? word : longest), "").slice(0, 40) ||
    "the details"
  );
};

const cutAtStop = (text: string, stops: readonly string[]): string => {
  const places = stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
  return places.length === 0 ? text : text.slice(0, Math.min(...places));
};
