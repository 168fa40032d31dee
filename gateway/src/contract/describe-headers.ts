import { z } from "zod";
import { idempotencyKeptHours, idempotencyKeyPattern } from "../ledger/idempotency-key.ts";
import type { Names } from "../operation/names.ts";
import { isSold, takesIdempotencyKey, type Operation } from "../operation/operation.ts";
import type { JsonObject } from "../platform/json.ts";
import type { Components } from "./components.ts";
import { refusalsOf } from "./refusals-of.ts";

/** Headers a caller can send with this operation, beside its key. */
export function requestHeaders(operation: Operation, names: Names, components: Components): JsonObject[] {
  const usual = usualRequestHeaders(operation, names).map(([name, description, schema, sharedAs = name]) =>
    components.shared("parameters", sharedAs, () => ({
      name,
      in: "header",
      description,
      schema: components.schema(schema),
    })),
  );
  const own = Object.entries({ ...taskHeaders(operation), ...operation.headers }).map(
    ([written, { description, required, values }]) => {
      const example = operation.example?.headers?.[written];
      return {
        name: withProvider(written, names),
        in: "header",
        description,
        ...(required === true ? { required: true } : {}),
        schema: components.schema(values === undefined ? z.string() : z.enum(values)),
        ...(example === undefined ? {} : { example }),
      };
    },
  );
  return [...usual, ...own];
}

/** Whoever begins a task has to say so, whether its definition mentions that or not. */
const taskHeaders = (operation: Operation): NonNullable<Operation["headers"]> =>
  isSold(operation) && operation.task
    ? {
        "X-{provider}-Async": {
          description: "Says that you know the answer is a task.",
          required: true,
          values: ["enable"],
        },
      }
    : {};

type RequestHeader = [name: string, description: string, schema: z.ZodType, sharedAs?: string];

function usualRequestHeaders(operation: Operation, { provider }: Names): RequestHeader[] {
  const usual: RequestHeader[] = [];
  if (takesIdempotencyKey(operation)) usual.push(remembersKeys(operation) ? onceKey : needlessKey);
  if (operation.price.kind === "free") return usual;
  usual.push(
    [
      `X-${provider}-Cost-Mode`,
      "Answers with the price of this very call instead of executing it; free.",
      z.enum(["quote"]),
    ],
    [
      `X-${provider}-Max-Price-USD`,
      "Refuses with 402 before anything is spent when the call could cost more.",
      z.string().regex(/^\d{1,15}(\.\d{1,18})?$/),
    ],
  );
  return usual;
}

const idempotencyKey = z.string().regex(idempotencyKeyPattern);

const onceKey: RequestHeader = [
  "Idempotency-Key",
  `Executes and charges once: for ${idempotencyKeptHours} hours a repetition is answered 409 with the first call's id, status and charge.`,
  idempotencyKey,
];

const needlessKey: RequestHeader = [
  "Idempotency-Key",
  "Taken as with every POST, and not needed: this call is free, and a repetition changes nothing more, so it is answered anew.",
  idempotencyKey,
  "Idempotency-Key-Not-Needed",
];

/** Where nothing is charged and repeating changes nothing, nobody is refused for it. */
const remembersKeys = (operation: Operation): boolean =>
  refusalsOf(operation).some((code) => code.endsWith("request_already_completed"));

/** Headers that a successful answer of this operation can carry. None is promised on every answer. */
export function answerHeaders(operation: Operation, names: Names, components: Components): JsonObject {
  const { provider } = names;
  const written = [...limitHeaders];
  if (operation.price.kind === "per_token") written.push(...tokenHeaders);
  if (operation.price.kind !== "free") {
    written.push([`X-${provider}-Cost-Micros-USD`, "What the call was charged, in micro-USD.", integer]);
  }
  if (isSold(operation)) {
    const description = "`sandbox` when the built-in stand-in answered instead of a real vendor.";
    written.push([`X-${provider}-Upstream`, description, z.string()]);
  }
  return describeHeaders(written, components);
}

/** Headers of an answer that says no. */
export const refusalHeaders = (status: number, components: Components): JsonObject =>
  describeHeaders(mayBeRepeated.has(status) ? [...limitHeaders, retryAfter] : limitHeaders, components);

type Header = readonly [name: string, description: string, schema: z.ZodType];

const integer = z.int().min(0);

const limitHeaders: readonly Header[] = [
  ["X-Request-ID", "Names this call: on its receipt, in logs, to support.", z.string()],
  ["X-RateLimit-Limit-Requests", "Requests a minute, of the tightest limit that applied.", integer],
  ["X-RateLimit-Remaining-Requests", "What is left of it.", integer],
  ["X-RateLimit-Reset-Requests", "When it eases, Unix seconds.", integer],
];

const tokenHeaders: readonly Header[] = [
  ["X-RateLimit-Limit-Tokens", "Tokens a minute.", integer],
  ["X-RateLimit-Remaining-Tokens", "What is left of them.", integer],
  ["X-RateLimit-Reset-Tokens", "When they ease, Unix seconds.", integer],
];

const retryAfter: Header = ["Retry-After", "Seconds to wait before trying again, where that helps.", integer];
const mayBeRepeated: ReadonlySet<number> = new Set([409, 429, 503]);

const describeHeaders = (headers: readonly Header[], components: Components): JsonObject =>
  Object.fromEntries(
    headers.map(([name, description, schema]) => [
      name,
      components.shared("headers", name, () => ({ description, schema: components.schema(schema) })),
    ]),
  );

const withProvider = (header: string, { provider }: Names): string =>
  header.replaceAll("{provider}", provider);
