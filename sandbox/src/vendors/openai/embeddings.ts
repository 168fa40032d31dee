// Embeddings: a direction per word, added up, so that texts that share words point alike.

import { createSeeded } from "../../seeded.ts";
import { countTokens } from "../../tokens.ts";
import { parseObject, type VendorAnswer, type VendorCall } from "../../vendor.ts";
import { termsOf } from "../../words.ts";
import { isInteger, isListOf, isOptional, isText } from "../checks.ts";
import { checkModel, error } from "./errors.ts";

const inputsMax = 2048;
const placesPerTerm = 16;

export function embed({ body }: VendorCall): VendorAnswer {
  const request = parseObject(body);
  if (request === undefined)
    return error(400, { message: "We could not parse the JSON body of your request." });
  const { model, input, encoding_format: format } = request;

  if (!isText(model)) return error(400, { message: "you must provide a model parameter", param: "model" });
  const dimensionsMax = dimensionsOf(model);
  const { dimensions = dimensionsMax } = request;
  const inputs = readInputs(input);
  if (inputs === undefined) return error(400, { message: "'$.input' is invalid.", param: "input" });
  if (!isInteger(dimensions, 1, dimensionsMax))
    return error(400, { message: `'dimensions' must be from 1 to ${dimensionsMax}.`, param: "dimensions" });
  if (!isOptional(format, (word) => word === "float" || word === "base64"))
    return error(400, { message: "'encoding_format' must be float or base64.", param: "encoding_format" });
  const missing = checkModel(model);
  if (missing !== undefined) return missing;

  const tokens = inputs.reduce((sum, each) => sum + each.tokens, 0);
  const data = inputs.map(({ terms }, index) => {
    const vector = unitVector(terms, dimensions);
    const embedding = format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector];
    return { object: "embedding", index, embedding };
  });
  return {
    status: 200,
    body: { object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } },
    billed: { input_tokens: tokens },
  };
}

/** What a model gives where nobody asks for less; more it does not. */
const dimensionsOf = (model: string): number => (model.endsWith("-large") ? 3072 : 1536);

interface Input {
  readonly terms: readonly string[];
  readonly tokens: number;
}

/** A text, tokens, or a list of either; undefined when it is none of these. */
function readInputs(input: unknown): Input[] | undefined {
  if (isText(input)) return [ofText(input)];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  if (isListOf(input, isText) && input.length <= inputsMax) return input.map((text) => ofText(String(text)));
  if (isTokens(input)) return [ofTokens(input)];
  return isListOf(input, isTokens) && input.length <= inputsMax
    ? input.filter(isTokens).map(ofTokens)
    : undefined;
}

const isTokens = (value: unknown): value is number[] =>
  isListOf(value, (token) => isInteger(token, 0, 1_000_000)) && value.length > 0;

function ofText(text: string): Input {
  const terms = termsOf(text);
  return { terms: terms.length > 0 ? terms : [text], tokens: countTokens(text) };
}

const ofTokens = (tokens: readonly number[]): Input => ({
  terms: tokens.map((token) => `token ${token}`),
  tokens: tokens.length,
});

/** In single precision, so that both encodings say the same. */
function unitVector(terms: readonly string[], dimensions: number): Float32Array<ArrayBuffer> {
  const sums = new Float64Array(dimensions);
  for (const term of terms) {
    const seeded = createSeeded(`embedding ${term}`);
    for (let i = 0; i < placesPerTerm; i++) {
      const place = seeded.integer({ from: 0, to: dimensions - 1 });
      sums[place] = (sums[place] ?? 0) + seeded.fraction() - 0.5;
    }
  }
  // Words may cancel out, and a direction there must be.
  if (sums.every((sum) => sum === 0)) sums[0] = 1;
  const length = Math.hypot(...sums);
  return Float32Array.from(sums, (sum) => sum / length);
}
