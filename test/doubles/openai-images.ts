// Images, each of them the same single pixel.

import { stringOf } from "./json-read.ts";
import { fields } from "./known-fields.ts";
import { invalid, missing, unknownParameter } from "./openai-refusal.ts";
import type { Problem } from "./openai-refusal.ts";
import { isPositiveInteger } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export function checkImages(body: JsonObject): Problem | undefined {
  const stranger = unknownParameter(body, requestShape);
  if (stranger) return stranger;
  if (typeof body["model"] !== "string" || body["model"] === "") {
    return { message: "you must provide a model parameter" };
  }
  if (typeof body["prompt"] !== "string" || body["prompt"] === "") return missing("prompt");
  const count = body["n"] ?? 1;
  if (!isPositiveInteger(count) || count > imagesMax)
    return invalid("n", `an integer from 1 to ${imagesMax}`);
  if (!/^(auto|\d+x\d+)$/.test(stringOf(body["size"] ?? "auto")))
    return invalid("size", "auto or WIDTHxHEIGHT");
  return ["url", "b64_json"].includes(stringOf(body["response_format"] ?? "url"))
    ? undefined
    : invalid("response_format", "url or b64_json");
}

export const imagesOf = (body: JsonObject): readonly JsonObject[] =>
  Array.from({ length: Number(body["n"] ?? 1) }, (_, index) =>
    body["response_format"] === "url" ? { url: `https://images.example/${index}.png` } : { b64_json: pixel },
  );

/** For one image of any size; no vendor's figure, but a stable one. */
export const imageTokens = 1056;

const imagesMax = 10;
const requestShape = fields(
  "background",
  "model",
  "moderation",
  "n",
  "output_compression",
  "output_format",
  "prompt",
  "quality",
  "response_format",
  "size",
  "style",
  "user",
);
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
