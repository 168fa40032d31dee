import type { JsonObject } from "../../../platform/json.ts";
import type { Reasoning } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { integerOf, membersOf, textOf } from "./members.ts";
import type { Member } from "./members.ts";

/**
 * Every thinking Gemini takes a budget, but not every one takes a level: an effort is written as its tokens. High is the
 * most that all of them take, so there is nothing above it.
 */
const effortTokens = {
  minimal: 512,
  low: 2048,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
} as const;

export function readThinking(config: Member | undefined): Reasoning | undefined {
  if (config === undefined) return undefined;
  const members = membersOf(config);
  const budgetMember = members.take("thinkingBudget");
  const budget = integerOf(budgetMember);
  const level = members.take("thinkingLevel");
  // Whether thoughts are shown changes neither the answer nor its cost.
  members.take("includeThoughts");
  members.refuseRest();

  if (budget === 0) return "off";
  // -1 leaves it to the model, as saying nothing does.
  if (budget !== undefined && budget < -1) {
    throw new Inexpressible(budgetMember?.path ?? config.path, "must be -1 or more");
  }
  if (budget !== undefined && budget > 0) return { budgetTokens: budget };
  return level === undefined ? undefined : readLevel(level);
}

function readLevel(level: Member): Reasoning | undefined {
  const effort = textOf(level)?.toLowerCase();
  switch (effort) {
    case "minimal":
    case "low":
    case "medium":
    case "high":
      return { effort };
    case "thinking_level_unspecified":
      return undefined;
    default:
      throw new Inexpressible(level.path, "is not a level of thinking");
  }
}

export function writeThinking(reasoning: Reasoning | undefined): JsonObject | undefined {
  if (reasoning === undefined) return undefined;
  const thinkingBudget = tokensOf(reasoning);
  // Who asks for reasoning in another dialect is shown it without asking twice.
  return thinkingBudget === 0 ? { thinkingBudget } : { thinkingBudget, includeThoughts: true };
}

function tokensOf(reasoning: Reasoning): number {
  if (reasoning === "off") return 0;
  return "effort" in reasoning ? effortTokens[reasoning.effort] : reasoning.budgetTokens;
}
