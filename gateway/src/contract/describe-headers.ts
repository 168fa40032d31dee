import { z } from "zod";
import { idempotencyKeptHours, idempotencyKeyPattern } from "../ledger/idempotency-key.ts";
import type { Conventions } from "../offer/conventions.ts";
import { leavesInDoubt } from "../operation/exchanged.ts";
import type { Names } from "../operation/names.ts";
import { isAboutTask, isSold, takesIdempotencyKey, type Operation } from "../operation/operation.ts";
import type { JsonObject } from "../platform/json.ts";
import type { RefusalCode } from "../platform/refusals.ts";
import type { Components } from "./components.ts";
import { refusalsOf } from "./refusals-of.ts";

/** Headers a caller can send with this operation, beside its key. */
export function describeRequestHeaders(
  operation: Operation,
  names: Names,
  components: Components,
): JsonObject[] {
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
  if (takesIdempotencyKey(operation)) usual.push(keyOf(operation));
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

const keyOf = (operation: Operation): RequestHeader => {
  if (!remembersKeys(operation)) return needlessKey;
  return isSold(operation) && operation.task ? taskKey : onceKey;
};

const onceKey: RequestHeader = [
  "Idempotency-Key",
  `Executes and charges once: for ${idempotencyKeptHours} hours a repetition is answered 409 with the first call's id, status and charge.`,
  idempotencyKey,
];

/** Whoever lost the answer to a creation needs the task's id more than anything else. */
const taskKey: RequestHeader = [
  "Idempotency-Key",
  `Executes and charges once: for ${idempotencyKeptHours} hours a repetition is answered with the task that the first call created.`,
  idempotencyKey,
  "Idempotency-Key-Of-Task",
];

const needlessKey: RequestHeader = [
  "Idempotency-Key",
  "Accepted as on every POST, but not needed: this call is free, and repeating it changes nothing more, so it is answered anew.",
  idempotencyKey,
  "Idempotency-Key-Not-Needed",
];

/** Where nothing is charged and repeating changes nothing, nobody is refused for it. */
const remembersKeys = (operation: Operation): boolean =>
  refusalsOf(operation).some((code) => code.endsWith("request_already_completed"));

/** Headers that a successful answer of this operation can carry. None is promised on every answer. */
export function describeAnswerHeaders(
  operation: Operation,
  conventions: Conventions,
  names: Names,
  components: Components,
): JsonObject {
  const written = [...idHeaders(conventions), ...limitHeaders, ...tokenHeadersOf(operation)];
  if (isSold(operation) && operation.streams) written.push(unbuffered);
  if (isSold(operation) || isAboutTask(operation)) written.push(...upstreamHeaders(operation, names));
  return describeHeaders(written, components);
}

/** An answer that says no, of an operation: in our words, an upstream's, or either. */
export interface Negative {
  readonly operation: Operation;
  readonly conventions: Conventions;
  /** Undefined for all those that are only an upstream's. */
  readonly refused: { readonly status: number; readonly codes: readonly RefusalCode[] } | undefined;
  /** Whether an upstream may have been asked before it is said. */
  readonly asked: boolean;
}

/** Headers of an answer that says no. */
export function refusalHeaders(
  { operation, conventions, refused, asked }: Negative,
  names: Names,
  components: Components,
): JsonObject {
  const written = [...idHeaders(conventions), ...limitHeaders, ...tokenHeadersOf(operation)];
  // What vendors ask to wait is passed on with their own faults.
  if (refused === undefined || mayBeRepeated.has(refused.status) || (asked && refused.status >= 500))
    written.push(retryAfter);
  if (refused === undefined || saysWhether(refused, asked)) written.push(shouldRetry);
  if (asked) written.push(...upstreamHeaders(operation, names));
  return describeHeaders(written, components);
}

/** What tells it from one of the same words that comes with other headers. */
export const headersName = (negative: Negative): string =>
  pricedName(negative) + (namesRequestTwice(negative) ? "ForAnthropic" : "");

const pricedName = ({ operation: { price }, asked }: Negative): string =>
  price.kind === "per_token" ? "OfTokens" : asked && price.kind === "free" ? "Free" : "";

/** A refusal in Anthropic's dialect is known by its name already. */
const namesRequestTwice = ({ conventions: { dialect, hasAnthropicClients }, refused }: Negative): boolean =>
  hasAnthropicClients && (refused === undefined || dialect !== "anthropic");

const tokenHeadersOf = ({ price }: Operation): readonly Header[] =>
  price.kind === "per_token" ? tokenHeaders : [];

const upstreamHeaders = ({ price }: Operation, { provider }: Names): Header[] => [
  ...(price.kind === "free"
    ? []
    : [[`X-${provider}-Cost-Micros-USD`, "What the call was charged, in micro-USD.", integer] as const]),
  [
    `X-${provider}-Upstream`,
    "`sandbox` when the built-in stand-in answered instead of a real vendor.",
    z.string(),
  ],
];

type Header = readonly [name: string, description: string, schema: z.ZodType];

const integer = z.int().min(0);

const idHeaders = ({ hasAnthropicClients }: Conventions): readonly Header[] =>
  hasAnthropicClients ? [requestId, anthropicRequestId] : [requestId];

const requestId: Header = [
  "X-Request-ID",
  "Names this call: on its receipt, in logs, to support.",
  z.string(),
];
const anthropicRequestId: Header = [
  "Request-ID",
  "The same as `X-Request-ID`, where Anthropic's clients look for it.",
  z.string(),
];

const limitHeaders: readonly Header[] = [
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

const shouldRetry: Header = [
  "X-Should-Retry",
  "Whether a client should send the call again by itself; where this is missing, the client decides.",
  z.enum(["true", "false"]),
];
/** A vendor's answer says it, too, that leaves open whether the work was done. */
const saysWhether = ({ status, codes }: NonNullable<Negative["refused"]>, asked: boolean): boolean =>
  statusesThatSay.has(status) ||
  codes.some((code) => codesThatSay.has(code)) ||
  (asked && leavesInDoubt(status));

/** Of these statuses every refusal says it, of others these codes. */
const statusesThatSay: ReadonlySet<number> = new Set([401, 402, 409, 502, 503]);
const codesThatSay: ReadonlySet<RefusalCode> = new Set(["approval_required", "upstream_rate_limit"]);

const unbuffered: Header = [
  "X-Accel-Buffering",
  "`no` on a stream, so that proxies pass each event on at once.",
  z.string(),
];

const describeHeaders = (headers: readonly Header[], components: Components): JsonObject =>
  Object.fromEntries(
    headers.map(([name, description, schema]) => [
      name,
      components.shared("headers", name, () => ({ description, schema: components.schema(schema) })),
    ]),
  );

const withProvider = (header: string, { provider }: Names): string =>
  header.replaceAll("{provider}", provider);
