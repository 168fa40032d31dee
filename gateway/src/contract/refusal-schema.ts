// The bodies of refusals, by dialect and status: what `doors/http/refusal-body.ts` writes, as schemas.

import { z } from "zod";
import { budgetWindows } from "../keys/keys.ts";
import type { Conventions } from "../offer/conventions.ts";
import type { ModelDialect } from "../platform/dialect.ts";
import { refusals, type RefusalCode } from "../platform/refusals.ts";

export interface RefusedWith {
  readonly conventions: Conventions;
  readonly status: number;
  readonly codes: readonly RefusalCode[];
}

/** The same refusal has the same schema, so that it is converted once for all contracts. */
export function refusalSchema(refused: RefusedWith): z.ZodType {
  const { conventions, status, codes } = refused;
  const { dialect, messageOnly400 } = conventions;
  const key = [dialect, messageOnly400, status, ...codes].join(" ");
  const schema = made.get(key) ?? createSchema(refused);
  made.set(key, schema);
  return schema;
}

/** Bounded by the table of refusals: what no operation can answer with is never asked for. */
const made = new Map<string, z.ZodType>();

function createSchema(refused: RefusedWith): z.ZodType {
  const { conventions, status } = refused;
  const { dialect } = conventions;
  const shape = dialect === "plain" ? plainShape(refused) : shapes[dialect](refused);
  return status === 401 ? z.union([shape, quoteRefusal]) : shape;
}

const requestId = z.string().describe("Also the `X-Request-ID` header.");
const message = z.string();

/** A refused key in quote mode looks the same in every dialect; without any key it has no request id. */
const quoteRefusal = z
  .object({ error: z.object({ code: z.string(), message }), request_id: requestId.optional() })
  .meta({ id: "QuoteRefusal", description: "In quote mode." });

function plainShape({ conventions, status, codes }: RefusedWith): z.ZodType {
  // Exactly this, and nothing else, as the specification has it.
  if (conventions.messageOnly400 && status === 400) return z.strictObject({ error: message });
  const flat = codes.filter((code) => refusals[code].shape === "flat");
  const nested = codes.filter((code) => refusals[code].shape === "nested");
  const bare = codes.filter((code) => refusals[code].shape === "bare");
  const [only, ...others] = [
    ...(flat.length > 0 ? [flatShape(flat)] : []),
    ...(nested.length > 0 ? [nestedShape(status, nested)] : []),
    ...(bare.length > 0 ? [z.object({ code: z.enum(bare), message, request_id: requestId })] : []),
  ];
  if (!only) throw new Error(`There is no refusal with the status ${status} here.`);
  return others.length > 0 ? z.union([only, ...others]) : only;
}

const flatShape = (codes: readonly RefusalCode[]): z.ZodType =>
  z.object({ error: message, code: z.enum(codes), request_id: requestId });

function nestedShape(status: number, codes: readonly RefusalCode[]): z.ZodType {
  const error = { code: z.enum(codes), message, ...inError(status, codes) };
  if (status === 429) {
    return z.object({
      error: z.object({ type: z.literal("rate_limit_error"), ...error }),
      request_id: requestId,
    });
  }
  if (status === 503) return z.object({ error: z.object({ ...error, request_id: requestId }) });
  return z.object({ error: z.object(error), ...beside(status), request_id: requestId });
}

const shapes: Readonly<Record<ModelDialect, (refused: RefusedWith) => z.ZodType>> = {
  openai: ({ status, codes }) =>
    z.object({
      error: z.object({
        message,
        type: typeIn(status),
        param: z.string().nullable().describe("The field at fault."),
        code: z.enum(codes),
        ...inError(status, codes),
        ...beside(status),
      }),
    }),
  anthropic: ({ status, codes }) =>
    z.object({
      type: z.literal("error"),
      error: z.object({
        type: typeIn(status),
        message,
        code: z.enum(codes),
        ...(status === 400 ? { details: threadDetails } : {}),
        ...inError(status, codes),
        ...beside(status),
      }),
      request_id: requestId,
    }),
  gemini: ({ status, codes }) =>
    z.object({
      error: z.object({
        code: z.literal(status),
        message,
        status: z.string(),
        ...(status === 429 ? { type: typeIn(status) } : {}),
        ...inError(status, codes),
        ...beside(status),
        // Its own word for the code, which leaves no room for what an approval lacks.
        reason: z.enum(codes),
        ...([409, 429, 503].includes(status) ? { details: retryInfo } : {}),
      }),
    }),
};

const retryInfo = z
  .array(z.object({ "@type": z.string(), retryDelay: z.string() }))
  .optional()
  .describe("Google's own place for what the header `Retry-After` says: how long to wait, as `59s`.");

const typeIn = (status: number): z.ZodType =>
  status === 429 ? z.literal("rate_limit_error") : z.string().describe("The nearest word of the dialect.");

/** By this Anthropic's clients know that they have to send the whole conversation. */
const threadDetails = z
  .object({ error_code: z.string(), unsupported: z.array(z.string()) })
  .optional()
  .describe("Of a `thread` that the model does not keep.");

/** Members that stand inside `error` beside code and message. */
function inError(status: number, codes: readonly RefusalCode[]): Record<string, z.ZodType> {
  if (status === 402) {
    return {
      retryable: z.literal(false),
      estimated_micros_usd: z.int().describe("What the call may cost."),
      limit_micros_usd: z.int().describe("What it may not exceed."),
      window: z.enum(budgetWindows).optional().describe("Of `budget_exceeded`: what the limit is for."),
      spent_micros_usd: z.int().optional().describe("Of `budget_exceeded`: what is spent of it."),
      held_micros_usd: z.int().optional().describe("Of `budget_exceeded`: what running calls hold of it."),
      resets_at: z
        .int()
        .nullable()
        .optional()
        .describe("Of `budget_exceeded`: when it begins anew, in Unix seconds; null for a total."),
    };
  }
  if (status === 403)
    return Object.fromEntries(codes.flatMap((code) => Object.entries(ofForbidden[code] ?? {})));
  if (status === 409) return { retryable: z.boolean() };
  if (status === 429) return { limit: standing };
  return status === 503 ? { retryable: z.boolean().optional() } : {};
}

/** What a 403 tells beside its code, by that code. */
const ofForbidden: Partial<Record<RefusalCode, Record<string, z.ZodType>>> = {
  not_allowed_for_key: {
    operation_id: z.string().optional().describe("The operation that the key may not call."),
    allowed_operations: z.array(z.string()).optional().describe("Those that it may call."),
    model: z.string().optional().describe("The model that the key may not use."),
    allowed_models: z.array(z.string()).optional().describe("Those that it may use."),
  },
  insufficient_scope: {
    required_scopes: z.array(z.string()).optional().describe("What the access token has to be granted."),
  },
  // Said of scopes as well, by whoever needs a link.
  link_required: {
    missing_scopes: z
      .array(z.string())
      .optional()
      .describe("Of `insufficient_scope`: what the linked account did not allow."),
  },
  approval_required: {
    retryable: z.literal(false).optional(),
    reason: z
      .string()
      .optional()
      .describe("Of `approval_required`: `uncovered`, or what is wrong with the approval."),
    estimated_micros_usd: z.int().optional().describe("Of `approval_required`: what the call may cost."),
    covered_micros_usd: z.int().optional().describe("Of `approval_required`: what needs no approval."),
  },
};

/** Members that stand beside `error` in the plain shape, and inside it in the dialects. */
const beside = (status: number): Record<string, z.ZodType> => (status === 409 ? { original } : {});

const standing = z
  .object({
    name: z.string(),
    applies_to: z
      .array(z.string())
      .optional()
      .describe(
        "Ids of the operations whose own limit it is, where `requests_per_minute` is not that of all the key's requests.",
      ),
    limit: z.int().nullable(),
    remaining: z.int(),
    reset: z.int().describe("Unix seconds."),
  })
  .meta({ id: "LimitStanding" });

const original = z
  .object({
    request_id: z.string(),
    status: z
      .string()
      .describe(
        "Its state, as in its receipt; but `unknown` wherever nobody knows how it ended, even after its hold was returned and the receipt says `released` with the outcome `unknown`.",
      ),
    charged_micros_usd: z.int(),
  })
  .meta({ id: "OriginalRequest", description: "The call that took the idempotency key." });
