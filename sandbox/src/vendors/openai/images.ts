// Image generation, metered in tokens as the vendor's newer models are.

import { countTokens } from "../../tokens.ts";
import { parseObject, type VendorAnswer, type VendorCall } from "../../vendor.ts";
import { isInteger, isOptional, isText } from "../checks.ts";
import { checkModel, error } from "./errors.ts";
import { pngOf } from "./png.ts";

// The vendor's figures for one image, by quality and size.
const outputTokens = {
  low: { "1024x1024": 272, "1024x1536": 408, "1536x1024": 400 },
  medium: { "1024x1024": 1056, "1024x1536": 1584, "1536x1024": 1568 },
  high: { "1024x1024": 4160, "1024x1536": 6240, "1536x1024": 6208 },
} as const;
type Quality = keyof typeof outputTokens;
type Size = keyof (typeof outputTokens)["low"];

// Pictures are made 32 times smaller than asked for: nobody looks at them.
const shrunkBy = 32;

export function generateImages({ body, nowMs }: VendorCall): VendorAnswer {
  const request = parseObject(body);
  if (request === undefined)
    return error(400, { message: "We could not parse the JSON body of your request." });
  const { model, prompt } = request;
  const n = request["n"] ?? 1;
  const invalid = (param: string, message: string) => error(400, { message, param, code: "invalid_value" });

  if (!isText(model)) return invalid("model", "you must provide a model parameter");
  if (!isText(prompt)) return invalid("prompt", "'prompt' must be a text that is not empty.");
  if (!isInteger(n, 1, 10)) return invalid("n", "'n' must be an integer from 1 to 10.");
  const size = sizeOf(request["size"]);
  if (size === undefined) return invalid("size", "'size' must be 1024x1024, 1024x1536, 1536x1024 or auto.");
  const quality = qualityOf(request["quality"]);
  if (quality === undefined) return invalid("quality", "'quality' must be low, medium, high or auto.");
  if (!isOptional(request["response_format"], (format) => format === "b64_json"))
    return invalid("response_format", "'response_format' must be b64_json.");
  if (request["stream"] === true) return invalid("stream", "Streamed images are not served by the sandbox.");
  const missing = checkModel(model);
  if (missing !== undefined) return missing;

  const [width = 0, height = 0] = size.split("x").map((pixels) => Number(pixels) / shrunkBy);
  const input = countTokens(prompt);
  const output = n * outputTokens[quality][size];
  const data = Array.from({ length: n }, (_, index) => ({
    b64_json: pngOf({ seed: `${prompt} ${index}`, width, height }).toString("base64"),
  }));
  const usage = {
    input_tokens: input,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
    output_tokens: output,
    total_tokens: input + output,
  };
  const created = Math.floor(nowMs / 1000);
  return {
    status: 200,
    body: { created, background: "opaque", output_format: "png", quality, size, data, usage },
    billed: { input_tokens: input, output_tokens: output },
  };
}

function sizeOf(given: unknown): Size | undefined {
  if (given === undefined || given === null || given === "auto") return "1024x1024";
  return (Object.keys(outputTokens.low) as Size[]).find((size) => size === given);
}

function qualityOf(given: unknown): Quality | undefined {
  if (given === undefined || given === null || given === "auto") return "medium";
  return (Object.keys(outputTokens) as Quality[]).find((quality) => quality === given);
}
