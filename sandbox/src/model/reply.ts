// What the stand-in model answers: thoughts, then a text or tool calls, within the limits of the request.

import { fingerprint } from "../seeded.ts";
import { countTokens, cutToTokens } from "../tokens.ts";
import type { Conversation, Tool, Turn } from "./conversation.ts";
import { heardIn } from "./heard.ts";
import { askedIn, jsonTo, resultsIn, sayTo, thinkAbout } from "./say.ts";
import { sampleOf } from "./schema-sample.ts";

export interface Reply {
  /** Empty when the model does not think. */
  readonly thoughts: string;
  readonly thoughtTokens: number;
  /** Empty when tools are called. */
  readonly text: string;
  readonly calls: readonly Call[];
  readonly finish: "stop" | "length" | "tool_calls";
  /** The one that ended the text. */
  readonly stopSequence: string | null;
  /** All that was generated: thoughts too. */
  readonly tokens: number;
}

export interface Call extends Pick<Tool, "name" | "namespace" | "takesText"> {
  /** 24 letters for the vendor to put its own beginning before. */
  readonly id: string;
  /** JSON, unless the tool takes a text; the beginning of it when the limit cut it. */
  readonly argumentsText: string;
  readonly cut: boolean;
}

// What the stand-in model can say at most, whatever it is asked to repeat.
const modelTokensMax = 4096;

/** `index` tells the alternatives of one answer apart. */
export function replyTo(conversation: Conversation, index = 0): Reply {
  const asked = { ...conversation, turns: heardIn(conversation.turns) };
  const tokensMax = Math.min(asked.tokensMax, modelTokensMax);
  const thoughts = cutToTokens(thinkAbout(asked.turns), Math.min(asked.thinkingTokensMax, tokensMax)).text;
  const thoughtTokens = countTokens(thoughts);
  const spoken = speak(asked, index, tokensMax - thoughtTokens);
  return { ...spoken, thoughts, thoughtTokens, tokens: thoughtTokens + spoken.tokens };
}

type Spoken = Omit<Reply, "thoughts" | "thoughtTokens">;

function speak(asked: Conversation, index: number, tokensMax: number): Spoken {
  const tools = toolsFor(asked);
  if (tools.length > 0) return callTools(tools, asked.turns, index, tokensMax);

  const { turns, answerSchema } = asked;
  const full = answerSchema === undefined ? sayTo(turns, index) : jsonTo(answerSchema, turns);
  const stopped = cutAtStop(full, asked.stop);
  const { text, cut } = cutToTokens(stopped.text, tokensMax);
  return {
    text,
    calls: [],
    finish: cut ? "length" : "stop",
    stopSequence: cut ? null : stopped.stopSequence,
    tokens: countTokens(text),
  };
}

/** Every tool the last user message names, or one where one must be called; those that were called for it come last. */
function toolsFor({ tools, toolChoice, parallelCalls, turns }: Conversation): readonly Tool[] {
  if (toolChoice === "none") return [];
  // Once the tools have answered, an agent's loop must come to an end.
  if (toolChoice === "auto" && resultsIn(turns).length > 0) return [];

  const allowed = Array.isArray(toolChoice) ? tools.filter(({ name }) => toolChoice.includes(name)) : tools;
  // Where one must be called even then, the loop ends with the tool that gives the answer.
  const called = calledIn(turns);
  const uncalled = allowed.filter(({ name }) => !called.has(name));
  const open = uncalled.length > 0 ? uncalled : allowed;
  const named = open.filter(isNamedIn(askedIn(turns)));
  const chosen = toolChoice === "auto" || named.length > 0 ? named : open.slice(0, 1);
  return parallelCalls ? chosen : chosen.slice(0, 1);
}

/** Names of the tools that were called for the last user message. */
const calledIn = (turns: readonly Turn[]): ReadonlySet<string> =>
  new Set(
    turns
      .slice(turns.findLastIndex(({ role }) => role === "user") + 1)
      .flatMap(({ calls }) => calls.map(({ name }) => name)),
  );

/**
 * As a word of its own: `get_weather` does not name a tool called `get`. The words are looked up, because to search a long
 * text for each of many tools takes minutes.
 */
function isNamedIn(text: string): (tool: Tool) => boolean {
  const runs = text.match(/[\w-]+(?:[.:][\w-]+)*/g) ?? [];
  const words = new Set(runs.flatMap((run) => [run, ...run.split(/[.:]/)]));
  return ({ name }) => words.has(name);
}

/** The limit cuts arguments too, in the middle of their JSON, and what would come after is not called. */
function callTools(tools: readonly Tool[], turns: readonly Turn[], index: number, tokensMax: number): Spoken {
  const seed = `${askedIn(turns)} ${index}`;
  const calls: Call[] = [];
  let tokens = 0;
  for (const tool of tools) {
    const { text, cut } = cutToTokens(argumentsFor(tool, seed), tokensMax - tokens);
    // The same may be asked twice in a conversation, in which no two calls may have one id.
    const id = fingerprint(`${fullNameOf(tool)} ${seed} ${turns.length}`).slice(0, 24);
    calls.push({ ...tool, id, argumentsText: text, cut });
    tokens += countTokens(text);
    if (cut) break;
  }
  const cut = calls.some((call) => call.cut);
  return { text: "", calls, finish: cut ? "length" : "tool_calls", stopSequence: null, tokens };
}

const argumentsFor = ({ parameters, takesText }: Tool, seed: string): string =>
  takesText === true
    ? String(sampleOf({ type: "string" }, seed))
    : JSON.stringify(sampleOf(parameters, seed));

/** Groups may hold tools of one name. */
const fullNameOf = ({ namespace, name }: Tool): string =>
  namespace === undefined ? name : `${namespace}.${name}`;

function cutAtStop(text: string, stops: readonly string[]): { text: string; stopSequence: string | null } {
  const first = stops
    .map((stop) => ({ stop, place: text.indexOf(stop) }))
    .filter(({ place }) => place >= 0)
    .sort((a, b) => a.place - b.place)[0];
  return first === undefined
    ? { text, stopSequence: null }
    : { text: text.slice(0, first.place), stopSequence: first.stop };
}
