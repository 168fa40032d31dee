import type { Config } from "../../config/config.ts";
import { priceWordOf } from "../../config/price-words.ts";
import type { Catalogue } from "../../operation/catalogue.ts";
import { resolutionName, secondUnit, secondWords } from "../../operation/video-seconds.ts";
import { multiplierFromPpm, multiplierOne, usdFromMicros, type Pico } from "../../platform/money.ts";
import { some } from "./doubtful-models.ts";

/**
 * Prices that no vendor charges, such as those pasted from another program's list, which counts by the token. The operator
 * may mean them, so they are reported and not refused. A price of zero is meant: nobody writes it by accident.
 */
export const doubtfulPrices = (catalogue: Catalogue, config: Config): string[] => [
  ...perToken(config),
  ...exchanged(config),
  ...dearCacheReads(config),
  ...belowCost(config),
  ...withoutCacheWrites(config),
  ...withoutSteps(config),
  ...withoutResolutions(catalogue, config),
  ...billedBySearch(config),
];

function perToken({ models }: Config): string[] {
  const doubtful = [...models].flatMap(([id, { price = {} }]) => {
    const words = Object.entries(price)
      .filter(([unit, pico]) => !unitsOfVideo.has(unit) && isDoubtful(pico))
      .map(([unit, pico]) => `${priceWordOf(unit)}: ${perMillion(pico)}`);
    return words.length === 0 ? [] : [`${id} (${words.join(", ")})`];
  });
  if (doubtful.length === 0) return [];
  return [
    `models: prices are USD per million tokens, and what is written is hardly that for ${some(doubtful)}; ` +
      "a price for one token has to be multiplied by a million",
  ];
}

/** Of well over a thousand prices that vendors list, one model's is a little higher for what it reads. */
function exchanged({ models }: Config): string[] {
  const dearer = [...models].flatMap(([id, { price = {} }]) => {
    const { input_tokens: input = 0n, output_tokens: output = 0n } = price;
    return output > 0n && input > output
      ? [`${id} (input: ${perMillion(input)}, output: ${perMillion(output)})`]
      : [];
  });
  return told(
    dearer,
    (ids) =>
      `models: ${ids} would sell what is read dearer than what is written, which hardly any vendor does; were the two prices ` +
      "exchanged?",
  );
}

function dearCacheReads({ models }: Config): string[] {
  const dearer = [...models].flatMap(([id, { price = {} }]) => {
    const { input_tokens: input = 0n, cache_read_tokens: cached = 0n } = price;
    // A figure that is for one token is told by itself.
    return cached > input && input !== 0n && !isDoubtful(input)
      ? [`${id} (input: ${perMillion(input)}, cache_read: ${perMillion(cached)})`]
      : [];
  });
  return told(
    dearer,
    (ids) =>
      `models: ${ids} would sell what is read from a cache dearer than what is not, which no vendor does; is a figure wrong?`,
  );
}

/** A factor of 0 is meant, as a price of zero is. */
const belowCost = ({ operations }: Config): string[] =>
  [...operations].flatMap(([id, { costFactorPpm: ppm = multiplierOne }]) =>
    ppm > 0n && ppm < multiplierOne
      ? [
          `operations.${id}.cost_factor: ${multiplierFromPpm(ppm)} charges less than the vendor does; for so much on top of it ` +
            `write ${multiplierFromPpm(multiplierOne + ppm)}`,
        ]
      : [],
  );

/** Anthropic takes twice the price of input for what it keeps for an hour, and 1.25 times for what it keeps for minutes. */
function withoutCacheWrites({ models, upstreams }: Config): string[] {
  const atInput: string[] = [];
  const atMinutes: string[] = [];
  for (const [id, { price, namesAt, via = [] }] of models) {
    const isClaudes =
      [id, ...namesAt.values()].some((name) => /claude/i.test(name)) ||
      via.some((name) => upstreams.get(name)?.protocol === "anthropic");
    if (!isClaudes || !price?.["input_tokens"]) continue;
    if (!("cache_write_tokens" in price)) atInput.push(id);
    else if (!("cache_write_1h_tokens" in price)) atMinutes.push(id);
  }
  return [
    ...told(
      atInput,
      (ids) =>
        `models: ${ids} would sell what is kept in a cache at the price of input, of which Anthropic takes a quarter more, and ` +
        "twice as much for an hour; write cache_write and cache_write_1h",
    ),
    ...told(
      atMinutes,
      (ids) =>
        `models: ${ids} would sell what is kept for an hour at the price of cache_write, which the vendor takes for ` +
        "minutes; write cache_write_1h beside it",
    ),
  ];
}

/**
 * Some vendors take up to twice as much for all of a call whose prompt is longer than this, and for Claude Haiku 5.5 five
 * times as much. A price here has no steps.
 */
const steps: readonly (readonly [family: RegExp, tokens: number])[] = [
  [/gpt-(5\.[4-9]|[6-9])/i, 272_000],
  [/gemini-[\w.-]*pro/i, 200_000],
  [/grok-4/i, 200_000],
  [/claude-haiku-5[-.]5/i, 100_000],
];

function withoutSteps({ models }: Config): string[] {
  const stepped = [...models].flatMap(([id, { price, namesAt, contextTokens = Infinity }]) => {
    const names = [id, ...namesAt.values()];
    const isReached = steps.some(
      ([family, tokens]) => contextTokens > tokens && names.some((name) => family.test(name)),
    );
    return isReached && price?.["input_tokens"] ? [id] : [];
  });
  return told(
    stepped,
    (ids) =>
      `models: ${ids} may cost more for long prompts, above 100,000, 200,000 or 272,000 tokens, and a price here has no ` +
      "steps; write the higher one where the vendor's list has two",
  );
}

/** A vendor bills the highest resolution all the same, and callers who name none may get it. */
function withoutResolutions({ models: shipped }: Catalogue, { models }: Config): string[] {
  return [...models].flatMap(([id, { price = {}, namesAt }]) => {
    const names = [id, ...namesAt.values()];
    const made = shipped.filter((model) => names.includes(model.id)).flatMap((one) => Object.keys(one.price));
    const highest = secondWords.findLast((word) => made.includes(word));
    const priced = secondWords.findLast((word) => price[word] !== undefined);
    if (highest === undefined || priced === undefined) return [];
    if (secondWords.indexOf(priced) >= secondWords.indexOf(highest)) return [];
    const sold = resolutionName(secondUnit(undefined, price));
    return [
      `models.${id}: no price for ${resolutionName(highest)}, in which the model makes videos too, so they are sold at that ` +
        `of ${sold}; write ${highest} beside it`,
    ];
  });
}

/** Cohere takes a price for each search of up to a hundred documents, however short they are. */
function billedBySearch({ upstreams }: Config): string[] {
  const names = [...upstreams].flatMap(([name, { protocol }]) => (protocol === "cohere" ? [name] : []));
  return told(
    names,
    (ids) =>
      `upstreams: ${ids} bills by the search, and rerank is sold by the token: many short calls cost more there than they ` +
      "bring; write a price for rerank-v3.5 that covers them, or sell rerank through another vendor",
  );
}

const told = (ids: readonly string[], say: (ids: string) => string): string[] =>
  ids.length === 0 ? [] : [say(some(ids))];

/** Seconds of video cost something else than millions of tokens. */
const unitsOfVideo: ReadonlySet<string> = new Set(secondWords);

/** Per token. The cheapest million tokens that vendors list cost some thousandths of a USD, the dearest some hundreds. */
const usualLeastPico: Pico = 1_000n;
const usualMostPico: Pico = 1_000_000_000n;

const isDoubtful = (pico: Pico): boolean => pico !== 0n && (pico < usualLeastPico || pico > usualMostPico);

/** One pico-USD per token is one micro-USD per million tokens. */
const perMillion = (pico: Pico): string => usdFromMicros(pico);
