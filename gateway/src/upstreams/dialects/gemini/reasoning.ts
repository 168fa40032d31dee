import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import type { Reasoning } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { isGemini3OrLater, isGeminiSince } from "./gemini-version.ts";
import { camelCase, integerOf, membersOf, textOf } from "./members.ts";
import type { Member } from "./members.ts";

/**
 * Before Gemini 3 there are no levels, so an effort is written as its tokens. High is the most that all of them take, so there
 * is nothing above it.
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
  // Whether thoughts are shown changes neither the answer nor its cost: see asksForThoughts.
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

export function asksForThoughts(body: JsonObject): boolean {
  const config = memberOf(memberOf(body, "generationConfig"), "thinkingConfig");
  return memberOf(config, "includeThoughts") === true;
}

const memberOf = (object: unknown, name: string): unknown =>
  isJsonObject(object)
    ? Object.entries(object).find(([written]) => camelCase(written) === name)?.[1]
    : undefined;

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

export function writeThinking(reasoning: Reasoning | undefined, model: string): JsonObject | undefined {
  if (reasoning === undefined) return undefined;
  if (reasoning === "off") return leastThinking(model);
  // Who asks for reasoning in another dialect is shown it without asking twice.
  return { ...wantedThinking(reasoning, model), includeThoughts: true };
}

/** Gemini 3 and later take a budget, too, and may think for several times as long: of them only a level is kept to. */
function wantedThinking(reasoning: Exclude<Reasoning, "off">, model: string): JsonObject {
  if ("effort" in reasoning && isGemini3OrLater(model))
    return { thinkingLevel: levelFor(reasoning.effort, model) };
  const wanted = "effort" in reasoning ? effortTokens[reasoning.effort] : reasoning.budgetTokens;
  const { least, most } = budgetRange(model);
  return { thinkingBudget: Math.min(Math.max(wanted, least), most) };
}

/** The nearest that the model knows, and rather the higher one. */
function levelFor(effort: keyof typeof effortTokens, model: string): string {
  if (effort === "minimal") return leastLevel(model);
  if (effort === "low") return "low";
  return effort === "medium" && knowsMedium(model) ? "medium" : "high";
}

/** Not every Gemini can answer without thinking; one that cannot is held to the least it takes. */
function leastThinking(model: string): JsonObject {
  if (isGemini3OrLater(model)) return { thinkingLevel: leastLevel(model) };
  return { thinkingBudget: model.includes("2.5-pro") ? budgetRange(model).least : 0 };
}

const leastLevel = (model: string): string => (knowsMinimal(model) ? "minimal" : "low");

/** Google refuses the level that a model does not know: Pro never knew it, and of Flash since 3.7 only Lite does. */
const knowsMinimal = (model: string): boolean =>
  !model.includes("pro") && (model.includes("lite") || !isGeminiSince(model, { major: 3, minor: 7 }));

/** The first Pro of Gemini 3 knows low and high alone. */
const knowsMedium = (model: string): boolean =>
  !model.includes("pro") || isGeminiSince(model, { major: 3, minor: 1 });

/** Google refuses a budget outside of what the model can think. */
function budgetRange(model: string): { readonly least: number; readonly most: number } {
  if (model.includes("2.5-pro")) return { least: 128, most: 32_768 };
  return { least: model.includes("flash-lite") ? 512 : 1, most: effortTokens.high };
}
