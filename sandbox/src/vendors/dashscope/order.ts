// What a create asks for, read as the vendor reads it.

import { isObject, parseObject, type JsonObject, type VendorAnswer } from "../../vendor.ts";
import { isInteger, isOptional, isText, objectOr } from "../checks.ts";
import { directionIn, type Direction } from "./direction.ts";
import { error } from "./errors.ts";

export interface Order {
  readonly model: string;
  /** What is repeated in the answer: the beginning, where it is long. */
  readonly prompt: string;
  readonly seconds: number;
  /** 480, 720 or 1080. */
  readonly resolution: number;
  /** Such as `1280*720`, where the order named one. */
  readonly size: string | undefined;
  readonly direction: Direction;
  /** What the vendor finds wrong only when it begins to work. */
  readonly flaw: string | undefined;
}

// The vendor cuts prompts too.
const promptLengthMax = 2_000;

export function readOrder(body: string): Order | { readonly refused: VendorAnswer } {
  const request = parseObject(body);
  if (request === undefined) return invalid("Request body format invalid");
  const { model, input } = request;
  if (!isText(model)) return invalid("Field required: model");
  if (model.startsWith("missing-")) return invalid("Model not exist.");
  if (!isObject(input)) return invalid("Field required: input");
  const { prompt } = input;
  if (!isText(prompt)) return invalid("Field required: input.prompt");

  const parameters = objectOr(request["parameters"]);
  const { size, duration } = parameters;
  const resolution = resolutionOf(parameters);
  if (resolution === undefined) return invalid("size or resolution is not supported");
  if (!isOptional(duration, (given) => given === -1 || isInteger(given, 2, 15))) {
    return invalid("duration must be an integer from 2 to 15, or -1");
  }

  const direction = directionIn(prompt);
  if (direction.refused) {
    return {
      refused: error(400, "Input data may contain inappropriate content.", "DataInspectionFailed"),
    };
  }
  return {
    model,
    prompt: prompt.slice(0, promptLengthMax),
    seconds: secondsOf(duration),
    resolution,
    size: isText(size) ? size : undefined,
    direction,
    flaw: flawOf(model, input),
  };
}

const invalid = (message: string) => ({ refused: error(400, message) });

/** Left to the vendor (-1), a video is longer than one that nobody said anything about. */
function secondsOf(duration: unknown): number {
  if (typeof duration !== "number") return 5;
  return duration === -1 ? 10 : duration;
}

/** By name or by the number of pixels; undefined when there is no such resolution. */
function resolutionOf({ size, resolution }: JsonObject): number | undefined {
  if (isText(resolution)) {
    const named = Number(/^(480|720|1080)p$/i.exec(resolution)?.[1]);
    return Number.isNaN(named) ? undefined : named;
  }
  if (!isText(size)) return 1080;
  const [, width, height] = /^(\d{3,4})\*(\d{3,4})$/.exec(size) ?? [];
  const pixels = Number(width) * Number(height);
  return pixelsMax.find(([, most]) => pixels <= most)?.[0];
}

const pixelsMax = [
  [480, 832 * 480],
  [720, 1280 * 720],
  [1080, 1920 * 1080],
] as const;

/** Seen with this model: the create succeeds, and the task fails for want of a picture. */
const flawOf = (model: string, input: JsonObject): string | undefined =>
  model.startsWith("wan2.7-i2v") && input["media"] === undefined ? "Field required: input.media" : undefined;
