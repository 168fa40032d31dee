import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";

/** OpenAI's thinking models choose for themselves, and refuse to be told; 1 is what both are where nothing is said. */
export function writeSampling({ model, temperature, topP }: ChatRequest): JsonObject {
  if (!choosesItself.test(model)) return { temperature, top_p: topP };
  if ((temperature ?? 1) !== 1) throw new Inexpressible("temperature", "this model takes none but 1");
  if ((topP ?? 1) !== 1) throw new Inexpressible("top_p", "this model takes none but 1");
  return {};
}

/** Later ones take both where they do not think. Some do unasked, and are left to say so themselves. */
const choosesItself = /(^|\/)(gpt-5(-mini|-nano)?|o1|o[34](-mini)?)(-\d{4}-\d\d-\d\d)?$/;
