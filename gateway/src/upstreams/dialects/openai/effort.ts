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

/** The effort to write for this model; undefined where nothing is said. */
export function writeReasoning(reasoning: Reasoning, model: string): string | undefined {
  const taken = effortsOf(model);
  const wanted = wantedEffort(reasoning);
  // Whose models' efforts nobody knows is told what was wanted, but not that nothing was: many refuse that.
  if (taken === undefined) return wanted === "none" ? undefined : wanted;
  return wanted === "none" ? taken[0] : nearest(wanted, taken);
}

/** Google documents 1,024, 8,192 and 24,576 as what low, medium and high mean; a budget becomes the nearest of them. */
function wantedEffort(reasoning: Reasoning): Effort {
  if (reasoning === "off") return "none";
  if ("effort" in reasoning) return reasoning.effort;
  if (reasoning.budgetTokens <= 0) return "none";
  if (reasoning.budgetTokens <= 4_608) return "low";
  return reasoning.budgetTokens <= 16_384 ? "medium" : "high";
}

/** The most of what the model takes that is not more than wanted; some thinking where some is wanted. */
function nearest(wanted: Effort, taken: readonly Effort[]): Effort | undefined {
  const thinking = taken.filter((effort) => effort !== "none");
  const most = efforts.indexOf(wanted);
  return thinking.findLast((effort) => efforts.indexOf(effort) <= most) ?? thinking[0];
}

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
type Effort = (typeof efforts)[number];

/**
 * OpenAI refuses an effort that a model does not know, and models that cannot think refuse every effort: who asks for
 * thinking is answered without it then. Undefined for other vendors' models.
 */
function effortsOf(model: string): readonly Effort[] | undefined {
  const [name = ""] = model.split("/").slice(-1);
  return takenEfforts.find(([models]) => models.test(name))?.[1];
}

const takenEfforts: readonly (readonly [models: RegExp, efforts: readonly Effort[]])[] = [
  [/^gpt-5(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/, ["minimal", "low", "medium", "high"]],
  [/^gpt-5\.1(-\d{4}-\d\d-\d\d)?$/, ["none", "low", "medium", "high"]],
  [
    /^gpt-(5\.\d+|[6-9](\.\d+)?)(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/,
    ["none", "low", "medium", "high", "xhigh"],
  ],
  [/^(o1|o[34](-mini)?)(-\d{4}-\d\d-\d\d)?$/, ["low", "medium", "high"]],
  // Some of the rest think, but as much as they like.
  [/^(chat)?gpt-\d|^o\d/, []],
];
