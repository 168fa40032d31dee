import { z } from "zod";
import { secondWords, type SecondWord } from "../operation/video-seconds.ts";
import { sayWhatFits } from "../platform/config-error.ts";
import { picoFromUsd, picoFromUsdPerMillion, type Pico } from "../platform/money.ts";
import type { TokenWord } from "../prices/token-units.ts";
import { amount, count } from "./numbers.ts";
import { tokenPrices } from "./price-words.ts";

export interface ModelConfig {
  /** The upstreams that serve it, in the order in which they are asked. */
  readonly via: readonly string[] | undefined;
  /** Its name at those of them that know it by another one. */
  readonly namesAt: ReadonlyMap<string, string>;
  readonly price: Readonly<Record<string, Pico>> | undefined;
  readonly unaskedOutputTokensMax: number | undefined;
  readonly contextTokens: number | undefined;
}

export const modelName = z
  .string()
  .regex(/^[\w.:/@-]{1,200}$/, "expected a model name: letters, digits and _ . : / @ -");

const pricePerMillion = amount(picoFromUsdPerMillion, "USD per 1,000,000 tokens, at most 6 decimals");

const pricesPerMillion = {
  input: pricePerMillion.optional(),
  output: pricePerMillion.optional(),
  cache_read: pricePerMillion.optional(),
  cache_write: pricePerMillion.optional(),
  cache_write_1h: pricePerMillion.optional(),
  input_audio: pricePerMillion.optional(),
  cache_read_audio: pricePerMillion.optional(),
  output_audio: pricePerMillion.optional(),
} satisfies Record<TokenWord, unknown>;

const pricePerSecond = amount(picoFromUsd, "USD per second of video, at most 12 decimals");

const pricesPerSecond = {
  second_480p: pricePerSecond.optional(),
  second_540p: pricePerSecond.optional(),
  second_720p: pricePerSecond.optional(),
  second_1080p: pricePerSecond.optional(),
  second_2160p: pricePerSecond.optional(),
} satisfies Record<SecondWord, unknown>;

/** `openai`, or `{ router: openai/gpt-x }` where the upstream knows the model by another name. */
const servedAt = z.union(
  [
    z.string().transform((upstream) => ({ upstream, name: undefined })),
    z
      .record(z.string(), modelName)
      .refine((named) => Object.keys(named).length === 1)
      .transform((named) => {
        const [[upstream, name] = ["", undefined]] = Object.entries(named);
        return { upstream, name };
      }),
  ],
  "expected the name of an upstream, or { upstream: the model's name there }",
);

const servedBy = z
  .array(servedAt)
  .min(1)
  .refine((places) => new Set(places.map(({ upstream }) => upstream)).size === places.length, {
    error: "names an upstream twice",
  });

const model = z
  .strictObject({
    via: servedBy.optional(),
    price: z
      .strictObject({
        ...pricesPerMillion,
        ...pricesPerSecond,
      })
      .refine((price) => price.input !== undefined || secondWords.some((word) => price[word] !== undefined), {
        path: ["input"],
        error: "expected a price of input tokens, or of seconds of video (second_720p and the like)",
      })
      .optional(),
    max_output_tokens: count.optional(),
    context_tokens: count.optional(),
  })
  .transform((written): ModelConfig => ({
    via: written.via?.map(({ upstream }) => upstream),
    namesAt: new Map(
      written.via?.flatMap(({ upstream, name }) => (name === undefined ? [] : [[upstream, name] as const])),
    ),
    price: written.price && tokenPrices(written.price),
    unaskedOutputTokensMax: written.max_output_tokens,
    contextTokens: written.context_tokens,
  }));

/** `gpt-x: off` takes it from sale. No union, which would say of a mistake in a model only that nothing fits. */
export const modelOrOff = z.unknown().transform((written, context): ModelConfig | "off" => {
  if (written === false || written === "off") return "off";
  const parsed = model.safeParse(written, { error: sayWhatFits });
  if (parsed.success) return parsed.data;
  // What zod found it also understands; only the type of `input` differs by the kind of issue.
  context.issues.push(
    ...parsed.error.issues.map((issue) => ({ ...issue, input: written }) as z.core.$ZodRawIssue),
  );
  return z.NEVER;
});
