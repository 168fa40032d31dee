// How much the model may think. Models up to Claude 4.6 are given a budget of tokens; later ones refuse a
// budget with a 400 and take an effort, beside which they decide for themselves. Some of these cannot but think.

import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import type { ChatRequest, Reasoning } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { forcesCall } from "../forces-call.ts";
import { isClaudeSince } from "./claude-version.ts";
import { optionalNumber, optionalObject } from "./members.ts";

type Effort = Extract<Reasoning, { effort: unknown }>["effort"];

/** What an effort is worth in tokens, for models that are given a budget; they know nothing above high. */
const budgets: Readonly<Record<Effort, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 16_384,
  max: 16_384,
};

/** Anthropic refuses less, and refuses a budget that is not below max_tokens. */
const budgetMin = 1024;

/** The most of the output that a budget may take. */
const thinkingShare = 0.75;

export function readReasoning(thinking: unknown, effort: unknown): Reasoning | undefined {
  const object = optionalObject(thinking, "thinking");
  const said = readEffort(effort);
  switch (object?.["type"]) {
    case "disabled":
    // Nothing is thought before the answer begins, which is as little as others can be asked for.
    case "between_tools":
      return "off";
    case "enabled": {
      const budgetTokens = optionalNumber(object?.["budget_tokens"], "thinking.budget_tokens");
      if (budgetTokens === undefined) throw new Inexpressible("thinking.budget_tokens", "must be a number");
      return { budgetTokens };
    }
    // Adaptive without an effort leaves it to the model, and so does saying nothing.
    case "adaptive":
    case undefined:
      return said === undefined ? undefined : { effort: said };
    default:
      throw new Inexpressible("thinking.type", "must be enabled, disabled, adaptive or between_tools");
  }
}

export function asksForThoughts({ thinking }: JsonObject): boolean {
  const { type, display } = objectOrEmpty(thinking);
  return (type === "enabled" || type === "adaptive") && display !== "omitted";
}

function readEffort(effort: unknown): Effort | undefined {
  if (effort === undefined || effort === null) return undefined;
  const known = efforts.find((each) => each === effort);
  if (known !== undefined) return known;
  throw new Inexpressible(
    "output_config.effort",
    `${JSON.stringify(effort)} is not low, medium, high, xhigh or max`,
  );
}

const efforts = ["low", "medium", "high", "xhigh", "max"] as const;

interface WrittenReasoning {
  readonly thinking?: JsonObject;
  /** Stands in `output_config`. */
  readonly effort?: string;
}

interface Thinker extends Pick<ChatRequest, "model" | "toolChoice" | "temperature" | "topP" | "topK"> {
  readonly maxTokens: number;
  /** The conversation as it is written. */
  readonly messages: readonly JsonObject[];
}

export function writeReasoning(
  reasoning: Reasoning | undefined,
  { model, toolChoice, maxTokens, messages, ...sampling }: Thinker,
): WrittenReasoning {
  if (reasoning === undefined) return {};
  if (reasoning === "off") return leastThinking(model);
  // Anthropic refuses to think where it must call a tool: then the call comes without thinking rather than not at all.
  const mustCall = forcesCall(toolChoice);
  if (isClaudeSince(model, { major: 4, minor: 7 })) {
    const effort = writeEffort(reasoning);
    // Who asks for reasoning in another dialect is shown it without asking twice; unasked, these models show none.
    return mustCall ? { effort } : { thinking: { type: "adaptive", display: "summarized" }, effort };
  }
  if (mustCall || calledWithoutThought(messages)) return {};
  checkSampling(sampling);
  const wanted = "effort" in reasoning ? budgets[reasoning.effort] : reasoning.budgetTokens;
  // What is thought counts as output: a model that thinks all of its budget must have room left to answer.
  const budgetMax = Math.max(Math.floor(maxTokens * thinkingShare), budgetMin);
  const budget = Math.min(wanted, budgetMax);
  if (budget < budgetMin || budget >= maxTokens) {
    throw new Inexpressible(
      "effort" in reasoning ? "reasoning_effort" : "thinking_budget",
      `this model thinks in ${budgetMin} tokens or more, below the limit of its output (${maxTokens})`,
    );
  }
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

/** Not every Claude can answer without thinking, or takes the word for it; one that does not is held to its least. */
function leastThinking(model: string): WrittenReasoning {
  if (cannotButThink(model)) return { effort: "low" };
  const refusesDisabled = model.includes("sonnet") && isClaudeSince(model, { major: 5, minor: 5 });
  return { thinking: { type: refusesDisabled ? "between_tools" : "disabled" } };
}

const cannotButThink = (model: string): boolean =>
  /claude-(fable|mythos)/.test(model) ||
  (model.includes("opus") && isClaudeSince(model, { major: 5, minor: 5 }));

function checkSampling({ temperature, topP, topK }: Pick<Thinker, "temperature" | "topP" | "topK">): void {
  if ((temperature ?? 1) !== 1)
    throw new Inexpressible("temperature", "while it thinks, this model takes none but 1");
  if ((topP ?? 1) < topPMin)
    throw new Inexpressible("top_p", `while it thinks, this model takes none below ${topPMin}`);
  if (topK !== undefined) throw new Inexpressible("top_k", "while it thinks, this model takes none");
}

const topPMin = 0.95;

/**
 * A model that is given a budget may not begin to think between its calls and their results: Anthropic refuses thinking
 * where a turn with calls does not begin with a thought it signed. Other models' thoughts are unsigned, so after a call of
 * theirs the answer comes without thinking rather than not at all.
 */
export function calledWithoutThought(messages: readonly JsonObject[]): boolean {
  const types = blocksOfTurn(messages).map(({ type }) => type);
  const thought = types[0] === "thinking" || types[0] === "redacted_thinking";
  return types.includes("tool_use") && !thought;
}

/** What the model said since the last question: between its calls and their results its turn goes on. */
export function blocksOfTurn(messages: readonly JsonObject[]): readonly JsonObject[] {
  const question = messages.findLastIndex(
    ({ role, content }) => role === "user" && !blocksIn(content).some(({ type }) => type === "tool_result"),
  );
  const turn = messages.slice(question + 1).filter(({ role }) => role === "assistant");
  return turn.flatMap(({ content }) => blocksIn(content));
}

const blocksIn = (content: unknown): readonly JsonObject[] =>
  Array.isArray(content) ? content.filter(isJsonObject) : [{ type: "text" }];

/** There is no effort below low. A budget becomes the least effort that is worth as much. */
function writeEffort(reasoning: Exclude<Reasoning, "off">): string {
  if ("effort" in reasoning) return reasoning.effort === "minimal" ? "low" : reasoning.effort;
  if (reasoning.budgetTokens <= budgets.low) return "low";
  return reasoning.budgetTokens <= budgets.medium ? "medium" : "high";
}
