// Embeddings that mean nothing but are the same each time.

import { listOf, stringOf } from "./json-read.ts";
import { fields } from "./known-fields.ts";
import { invalid, missing, unknownParameter } from "./openai-refusal.ts";
import type { Problem } from "./openai-refusal.ts";
import { countTokens } from "./ranking.ts";
import { isPositiveInteger } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export function checkEmbeddings(body: JsonObject): Problem | undefined {
  const stranger = unknownParameter(body, requestShape);
  if (stranger) return stranger;
  if (typeof body["model"] !== "string" || body["model"] === "") {
    return { message: "you must provide a model parameter" };
  }
  const { input } = body;
  if (input === undefined) return missing("input");
  const inputs = inputsOf(body);
  const isGood = inputs.length > 0 && inputs.length <= inputsMax && inputs.every(isInput);
  if (!isGood) return invalid("input", `a non-empty text, tokens, or at most ${inputsMax} of them`);
  if (!["float", "base64"].includes(stringOf(body["encoding_format"] ?? "float"))) {
    return invalid("encoding_format", "float or base64");
  }
  return isPositiveInteger(body["dimensions"] ?? 1) ? undefined : invalid("dimensions", "a positive integer");
}

export const embeddingTokens = (body: JsonObject): number =>
  inputsOf(body).reduce<number>(
    (sum, input) => sum + (typeof input === "string" ? countTokens(input) : listOf(input).length),
    0,
  );

export function embeddingsOf(body: JsonObject): readonly JsonObject[] {
  const length = Number(body["dimensions"] ?? usualDimensions);
  return inputsOf(body).map((input, index) => {
    const seed = countTokens(JSON.stringify(input));
    const vector = Float32Array.from({ length }, (_, at) => ((seed * (at + 3)) % 17) / 17 - 0.5);
    const embedding =
      body["encoding_format"] === "base64"
        ? Buffer.from(vector.buffer).toString("base64")
        : Array.from(vector);
    return { object: "embedding", index, embedding };
  });
}

const requestShape = fields("model", "input", "encoding_format", "dimensions", "user");
const inputsMax = 2048;
const usualDimensions = 8;

/** One text or one list of tokens is one input; a list of either is many. */
const inputsOf = ({ input }: JsonObject): readonly unknown[] =>
  Array.isArray(input) && !(input.length > 0 && input.every(Number.isInteger)) ? input : [input];

const isInput = (input: unknown): boolean =>
  typeof input === "string"
    ? input !== ""
    : Array.isArray(input) && input.length > 0 && input.every(Number.isInteger);
