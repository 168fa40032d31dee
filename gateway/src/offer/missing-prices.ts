import type { ModelKind } from "../operation/model-kind.ts";
import { modelKindOf, type Operation } from "../operation/operation.ts";
import { secondWords } from "../operation/video-seconds.ts";
import type { Model } from "./merge-models.ts";

/** What a model would do for nothing: the parts it is sold by, in an operation of its kind, that have no price. */
export function missingPrices(operation: Operation, { kinds, price = {} }: Model): readonly Part[] {
  const kind = modelKindOf(operation);
  if (kind === undefined || !kinds.includes(kind) || operation.price.kind === "free") return [];
  return soldBy[kind].filter((part) => units[part].every((unit) => price[unit] === undefined));
}

const soldBy: Readonly<Record<ModelKind, readonly Part[]>> = {
  chat: ["input", "output"],
  image: ["input", "output"],
  embedding: ["input"],
  rerank: ["input"],
  video: ["seconds"],
};

export type Part = keyof typeof units;

/** A price for any of its units is enough: a resolution without its own price costs what another does. */
const units = {
  input: ["input_tokens"],
  output: ["output_tokens"],
  seconds: secondWords,
} as const satisfies Record<string, readonly string[]>;
