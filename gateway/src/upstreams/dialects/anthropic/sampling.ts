import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { isClaudeSince } from "./claude-version.ts";

export function writeSampling(request: ChatRequest): JsonObject {
  checkSampling(request);
  const { model, topK } = request;
  if (choosesItself(model)) return checkedAsUntold(request);
  if ((request.temperature ?? 0) > 1) throw new Inexpressible("temperature", "with this model, at most 1");
  // 1 is what both are where nothing is said, and many clients always send it.
  const topP = request.topP === 1 ? undefined : request.topP;
  const temperature = request.temperature === 1 && topP !== undefined ? undefined : request.temperature;
  if (temperature !== undefined && topP !== undefined && takesOneOnly(model)) {
    throw new Inexpressible("top_p", "this model takes it or a temperature, not both");
  }
  return { temperature, top_p: topP, top_k: topK };
}

/** Later models choose for themselves, and refuse to be told anything but what comes to the same. */
const choosesItself = (model: string): boolean => isClaudeSince(model, { major: 4, minor: 7 });

function checkedAsUntold({ temperature = 1, topP = 1, topK }: ChatRequest): JsonObject {
  if (temperature !== 1) throw new Inexpressible("temperature", "this model takes none but 1");
  if (topP < topPMin) throw new Inexpressible("top_p", `this model takes none below ${topPMin}`);
  if (topK !== undefined) throw new Inexpressible("top_k", "this model takes none");
  return {};
}

const topPMin = 0.99;

const takesOneOnly = (model: string): boolean => isClaudeSince(model, { major: 4, minor: 1 });

function checkSampling(request: ChatRequest): void {
  if (request.seed !== undefined) throw new Inexpressible("seed", "this model takes no seed");
  // A penalty of 0 is none, and some clients always send it.
  if ((request.frequencyPenalty ?? 0) !== 0) throw noPenalty("frequency_penalty");
  if ((request.presencePenalty ?? 0) !== 0) throw noPenalty("presence_penalty");
}

const noPenalty = (field: string): Inexpressible => new Inexpressible(field, "this model takes no penalties");
