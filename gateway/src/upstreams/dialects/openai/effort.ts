// How much the model is to think. This dialect knows efforts, and no budget of thinking tokens.

import type { Reasoning } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { readText } from "./members.ts";

export function readReasoning(value: unknown): Reasoning | undefined {
  const effort = readText(value, "reasoning_effort");
  switch (effort) {
    case undefined:
      return undefined;
    case "none":
      return "off";
    case "minimal":
    case "low":
    case "medium":
    case "high":
    case "xhigh":
    case "max":
      return { effort };
    default:
      throw new Inexpressible(
        "reasoning_effort",
        `${JSON.stringify(effort)} is not none, minimal, low, medium, high, xhigh or max`,
      );
  }
}

/** Google documents 1,024, 8,192 and 24,576 as what low, medium and high mean; a budget becomes the nearest of them. */
export function writeReasoning(reasoning: Reasoning, model: string): string | undefined {
  if (reasoning === "off") return leastEffort(model);
  if ("effort" in reasoning) return reasoning.effort;
  if (reasoning.budgetTokens <= 0) return leastEffort(model);
  if (reasoning.budgetTokens <= 4_608) return "low";
  return reasoning.budgetTokens <= 16_384 ? "medium" : "high";
}

/**
 * OpenAI refuses an effort that a model does not know, and models that cannot think refuse every effort. So one is
 * written only where the name says which is the least; elsewhere nothing is said.
 */
const leastEffort = (model: string): string | undefined =>
  leastEfforts.find(([models]) => models.test(model))?.[1];

const leastEfforts = [
  [/(^|\/)gpt-(5\.\d+|[6-9](\.\d+)?)(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/, "none"],
  [/(^|\/)gpt-5(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/, "minimal"],
  [/(^|\/)(o1|o[34](-mini)?)(-\d{4}-\d\d-\d\d)?$/, "low"],
] as const;
