// What the compiler would say about a definition, and more: files of the operator's own are run without it, and what is
// wrong in them would otherwise be met by callers.

import { z } from "zod";
import { describeIssue } from "../platform/config-error.ts";
import { modelKinds } from "./model-kind.ts";
import { defaultNames } from "./names.ts";
import { apiRoots } from "../platform/api-paths.ts";
import { callersDialects, modelDialects } from "../platform/dialect.ts";
import { microsFromUsd, picoFromUsd, picoFromUsdPerMillion } from "../platform/money.ts";
import { tokenUnits } from "../prices/token-units.ts";
import { secondWords } from "./video-seconds.ts";

/** What can be exchanged in each protocol that there is an adapter for. */
export type Exchanges = Readonly<Record<string, readonly string[]>>;

/** Why this is no operation that could be served: the field and the reason, in a line each. */
export function operationProblems(definition: unknown, exchanges: Exchanges | undefined): string[] {
  const parsed = operation.safeParse(definition);
  if (!parsed.success) return parsed.error.issues.map(describeIssue);
  const { path, params, dialectsUnder = path, servedBy, answer, aboutTask, link } = parsed.data;
  return [
    ...pathProblems(path, Object.keys(params ?? {})),
    ...(path.startsWith(dialectsUnder) && apiRoots.some((root) => dialectsUnder.startsWith(root))
      ? []
      : ["dialectsUnder: expected what its path begins with"]),
    ...([servedBy, answer, aboutTask].filter((one) => one !== undefined).length === 1
      ? []
      : ["servedBy: expected who serves it"]),
    ...Object.entries(servedBy ?? {}).flatMap(([protocol, service]) => [
      ...exchangeProblems(protocol, service.exchange, exchanges),
      ...vendorPathProblems(protocol, service.path, link !== undefined),
    ]),
  ];
}

/** Why this is no model that could be offered. */
export function modelProblems(definition: unknown): string[] {
  const parsed = model.safeParse(definition);
  return parsed.success ? [] : parsed.error.issues.map(describeIssue);
}

function pathProblems(path: string, declared: readonly string[]): string[] {
  const inPath = bracesIn(path).filter((word) => word === "provider" || !Object.hasOwn(defaultNames, word));
  return [
    ...(/[{}]/.test(path.replaceAll(/\{[A-Za-z_]\w*\}/g, ""))
      ? ["path: a brace is not closed, or holds no name"]
      : []),
    ...inPath
      .filter((word, at) => inPath.indexOf(word) < at)
      .map((word) => `path: {${word}} stands in it twice`),
    ...inPath
      .filter((word) => !declared.includes(word))
      .map((word) => `params.${word}: {${word}} of the path is not declared; say what it is`),
    ...declared
      .filter((word) => !inPath.includes(word))
      .map((word) => `params.${word}: there is no {${word}} in the path`),
  ];
}

function exchangeProblems(protocol: string, exchange: string, exchanges: Exchanges | undefined): string[] {
  if (exchanges === undefined) return [];
  const known = Object.hasOwn(exchanges, protocol) ? exchanges[protocol] : undefined;
  if (!known) {
    return [
      `servedBy.${protocol}: there is no such protocol; there are ${Object.keys(exchanges).join(", ")}`,
    ];
  }
  if (known.includes(exchange)) return [];
  return [`servedBy.${protocol}.exchange: ${protocol} has no "${exchange}"; it has ${known.join(", ")}`];
}

/** A vendor would be asked for the braces themselves. */
const vendorPathProblems = (protocol: string, path: string, isLinked: boolean): string[] =>
  bracesIn(path)
    .filter((word) => !(isLinked && word === "user_id"))
    .map((word) => `servedBy.${protocol}.path: nothing is put in the place of {${word}}`);

const bracesIn = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");

const text = z.string().min(1, "expected some words");

const someFunction = z.custom<unknown>((value) => typeof value === "function", "expected a function");

/** By what it can do and not by its class: a file of the operator's own may bring its own zod. */
const schema = z.custom<unknown>(
  (value) => typeof value === "object" && value !== null && "safeParse" in value,
  "expected a schema, such as z.looseObject({ … })",
);

/** What is no amount at all stands for a price that is the operator's to set; a negative one is a mistake. */
const priceUsd = z
  .string('expected USD as text, such as "0.01"')
  .refine((written) => !/^\s*-/.test(written), { error: "expected USD, not below 0" });

const amountUsd = z
  .string('expected USD as text, such as "0.01"')
  .refine((written) => (microsFromUsd(written) ?? -1n) >= 0n, {
    error: "expected USD, at most 6 decimals, not below 0",
  });

const modelKind = z.enum(modelKinds);

const price = z.discriminatedUnion(
  "kind",
  [
    z.looseObject({ kind: z.literal("free") }),
    z.looseObject({
      kind: z.literal("per_unit"),
      unit: text,
      usd: priceUsd,
      requested: someFunction,
      delivered: someFunction,
    }),
    z.looseObject({ kind: z.literal("per_token"), modelKind, estimate: someFunction }),
    z.looseObject({
      kind: z.literal("per_second"),
      modelKind,
      requested: someFunction,
      secondsMax: z.number().positive(),
    }),
    z.looseObject({ kind: z.literal("by_cost"), usualUsd: amountUsd, atMostUsd: amountUsd }),
  ],
  'expected a price, such as fixed("0.01") or free',
);

const apiPath = new RegExp(`^(?:${apiRoots.join("|")})[^\\s?#]+$`);

const operation = z.looseObject({
  id: z
    .string()
    .regex(
      /^[\w-]+(\.[\w-]+)*$/,
      "expected words of letters, digits, _ and -, with dots between, such as weather.now",
    ),
  title: text,
  summary: text,
  category: z.enum(["models", "data", "account"]),
  method: z.enum(["GET", "POST"]),
  path: z.string().regex(apiPath, `expected a path that begins with ${apiRoots.join(", ")}`),
  dialects: z.array(z.enum(modelDialects)).min(1, "expected one at least").optional(),
  dialectsUnder: z.string().optional(),
  shapeOf400: z.literal("message_only").optional(),
  params: z.record(z.string(), z.string()).optional(),
  query: schema,
  body: schema.optional(),
  response: schema.optional(),
  price,
  servedBy: z
    .record(
      z.string(),
      z.looseObject({
        exchange: z.string(),
        path: z.string().regex(/^(\/.*)?$/, "expected a path that begins with /"),
        dialect: z.enum(callersDialects).optional(),
      }),
    )
    .optional(),
  answer: someFunction.optional(),
  aboutTask: z.enum(["state", "cancel"]).optional(),
  link: z.looseObject({ scopes: z.array(z.string()) }).optional(),
});

const model = z.looseObject({
  id: text,
  kind: modelKind,
  protocols: z.array(z.string()).min(1, "expected the protocol that knows it"),
  price: z.record(z.string(), priceUsd).superRefine((written, context) => {
    for (const [word, usd] of Object.entries(written)) {
      const message = priceProblem(word, usd);
      if (message !== undefined) context.addIssue({ code: "custom", path: [word], message });
    }
  }),
});

/**
 * A word that nobody knows, or a figure that nobody can read, would be passed over, and what it was for sold at another
 * price: what goes into a cache at that of input, a resolution at that of a lower one.
 */
function priceProblem(word: string, usd: string): string | undefined {
  const isOfSeconds = secondWords.some((known) => known === word);
  if (!isOfSeconds && !Object.hasOwn(tokenUnits, word))
    return `there is no such price; there are ${[...Object.keys(tokenUnits), ...secondWords].join(", ")}`;
  const pico = isOfSeconds ? picoFromUsd(usd) : picoFromUsdPerMillion(usd);
  if (pico !== undefined || !/\d/.test(usd)) return undefined;
  return isOfSeconds
    ? "expected USD per second of video, at most 12 decimals"
    : "expected USD per 1,000,000 tokens, at most 6 decimals";
}
