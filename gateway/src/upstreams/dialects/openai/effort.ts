// How much the model is to think. OpenAI knows efforts, and no budget of thinking tokens; others who speak its dialect do.

import type { ChatRequest, Reasoning } from "../chat.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { Inexpressible } from "../dialect.ts";
import { forcesCall } from "../forces-call.ts";
import { readNumber, readObject, readText, refuseOthers } from "./members.ts";

export function readReasoning(body: JsonObject): Reasoning | undefined {
  const effort = readEffort(body["reasoning_effort"], "reasoning_effort");
  if (effort !== undefined) return effort;
  // Qwen's word for it, which says more than nothing where a model thinks unasked.
  return body["enable_thinking"] === false ? "off" : readThinking(body["thinking"]);
}

export function readEffort(value: unknown, field: string): Reasoning | undefined {
  const effort = readText(value, field);
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
        field,
        `${JSON.stringify(effort)} is not none, minimal, low, medium, high, xhigh or max`,
      );
  }
}

/** The word of Anthropic, by which Claude is asked with OpenAI's clients, too, and of DeepSeek, Zhipu and Moonshot. */
function readThinking(member: unknown): Reasoning | undefined {
  const thinking = readObject(member, "thinking");
  if (thinking === undefined) return undefined;
  refuseOthers(thinking, thinkingMembers, "thinking");
  switch (thinking["type"]) {
    case "disabled":
      return "off";
    case "enabled": {
      const budgetTokens = readNumber(thinking["budget_tokens"], "thinking.budget_tokens");
      if (budgetTokens !== undefined) return { budgetTokens };
      throw new Inexpressible(
        "thinking.budget_tokens",
        "is missing; a reasoning_effort may stand in its place",
      );
    }
    default:
      throw new Inexpressible(
        "thinking.type",
        "must be enabled or disabled; or say it by a reasoning_effort",
      );
  }
}

const thinkingMembers: ReadonlySet<string> = new Set(["type", "budget_tokens"]);

type Thinker = Pick<ChatRequest, "model" | "reasoning" | "tools" | "toolChoice">;

export const writeReasoning = (thinker: Thinker): JsonObject =>
  isToldNotTo(thinker) ? { thinking: { type: "disabled" } } : { reasoning_effort: writeEffort(thinker) };

/** Which of these are told not to think: all where no thinking is wanted, and some where a call is. */
const isToldNotTo = ({ model, reasoning, toolChoice }: Thinker): boolean =>
  reasoning === "off" ? thinksUntold.test(model) : forcesCall(toolChoice) && cannotBeForced.test(model);

/** By its own name at its own vendor, such a model thinks unless it is told not to. */
const thinksUntold = /^(deepseek-v4|kimi-k2\.[56]|glm-(4\.[5-9]|[5-9]))/;

/** It refuses while it thinks to be made to call a tool: the call comes without thinking rather than not at all. */
const cannotBeForced = /^(deepseek-v4|kimi-k2\.[56])/;

/** The effort to write for this model; undefined where nothing is said. */
function writeEffort({ model, reasoning, tools }: Thinker): string | undefined {
  const besideTools = knownModel(model)?.besideTools;
  if (tools.length > 0 && besideTools !== undefined) return writeBesideTools(besideTools);
  return effortFor({ model, reasoning });
}

/** The same where tools do not keep a model from thinking. */
export function effortFor({
  model,
  reasoning,
}: Pick<ChatRequest, "model" | "reasoning">): string | undefined {
  if (reasoning === undefined) return undefined;
  const known = knownModel(model);
  const wanted = wantedEffort(reasoning);
  // Whose models' efforts nobody knows is told what was wanted, but not that nothing was: many refuse that.
  if (known === undefined) return wanted === "none" ? undefined : wanted;
  return wanted === "none" ? known.efforts[0] : nearest(wanted, known.efforts);
}

/** The call comes without thinking rather than not at all. */
function writeBesideTools(besideTools: BesideTools): "none" | undefined {
  if (besideTools === "refused")
    throw new Inexpressible("tools", "this model calls tools in /v1/responses only");
  return besideTools === "none" ? "none" : undefined;
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
 * Vendors refuse an effort that a model does not know, and for models that cannot think many refuse every effort: who asks
 * for thinking is answered without it then. Undefined for models of which nobody knows what they take.
 */
function knownModel(model: string): KnownModel | undefined {
  const [name = ""] = model.split("/").slice(-1);
  return knownModels.find(({ names, atHome }) => names.test(atHome ? model : name));
}

/** Whether a model calls tools in a chat completion only while it does not think, or not at all there. */
export const besideToolsOf = (model: string): BesideTools | undefined => knownModel(model)?.besideTools;

interface KnownModel {
  readonly names: RegExp;
  readonly efforts: readonly Effort[];
  /** Only where the name stands alone: resellers, who write the vendor before it, leave out what a model does not take. */
  readonly atHome?: true;
  readonly besideTools?: BesideTools;
}

/**
 * Since GPT-5.4, OpenAI takes tools in a chat completion only where the model does not think. GPT-5.4 does not unless asked,
 * and has refused "none" too; later ones do unless told "none"; one that cannot be told so takes no tools there.
 */
type BesideTools = "unsaid" | "none" | "refused";

const knownModels: readonly KnownModel[] = [
  { names: /^gpt-5(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/, efforts: ["minimal", "low", "medium", "high"] },
  { names: /^gpt-5\.1(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/, efforts: ["none", "low", "medium", "high"] },
  {
    names: /^gpt-5\.[23](-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/,
    efforts: ["none", "low", "medium", "high", "xhigh"],
  },
  {
    names: /^gpt-5\.4(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/,
    efforts: ["none", "low", "medium", "high", "xhigh"],
    besideTools: "unsaid",
  },
  {
    names: /^gpt-5\.5(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$/,
    efforts: ["none", "low", "medium", "high", "xhigh"],
    besideTools: "none",
  },
  // Nobody is sure that it takes "max" in a chat completion, too.
  {
    names: /^gpt-6\.1-sol(-\d{4}-\d\d-\d\d)?$/,
    efforts: ["low", "medium", "high", "xhigh"],
    atHome: true,
    besideTools: "refused",
  },
  {
    names: /^gpt-(5\.\d+|[6-9](\.\d+)?)(-mini|-nano|-sol|-terra|-luna)?(-\d{4}-\d\d-\d\d)?$/,
    efforts: ["none", "low", "medium", "high", "xhigh", "max"],
    besideTools: "none",
  },
  {
    names: /^gpt-[6-9](\.\d+)?-astra(-\d{4}-\d\d-\d\d)?$/,
    efforts: ["low", "medium", "high", "xhigh", "max"],
    besideTools: "refused",
  },
  { names: /^(o1|o[34](-mini)?)(-\d{4}-\d\d-\d\d)?$/, efforts: ["low", "medium", "high"] },
  // Some of the rest think, but as much as they like.
  { names: /^(chat)?gpt-\d|^o\d/, efforts: [] },
  { names: /^gpt-oss/, efforts: ["low", "medium", "high"] },
  // They cannot think, and Groq, Cerebras and Ollama refuse to tell them.
  { names: /^(meta-)?llama|^gemma-?[123]|^kimi-k2-instruct/i, efforts: [] },
  // They think unasked, and Groq knows two words of its own for it.
  { names: /^qwen3(-32b|\.6-27b)$/i, efforts: [] },
  { names: /^grok-3-mini/, efforts: ["low", "high"], atHome: true },
  { names: /^grok-4\.20-multi-agent/, efforts: ["low", "medium", "high", "xhigh"], atHome: true },
  { names: /^grok-4\.3/, efforts: ["none", "low", "medium", "high"], atHome: true },
  { names: /^grok-4\.5/, efforts: ["low", "medium", "high"], atHome: true },
  { names: /^grok-([23]|4|4\.20|code)(-|$)/, efforts: [], atHome: true },
  {
    names:
      /^(mistral-small-(latest|2603)|mistral-medium-(3[-.]5|2604)|mistral-large-4([-.]0)?|magistral-small-latest)$/,
    efforts: ["none", "high"],
    atHome: true,
  },
  {
    names: /^(open-)?(mi[sx]tral|ministral|magistral|codestral|devstral|pixtral)(-|:|$)/,
    efforts: [],
    atHome: true,
  },
];
