import { z } from "zod";
import type { Names } from "../operation/names.ts";
import { isSold, type Operation } from "../operation/operation.ts";
import { dialectOf } from "../platform/dialect.ts";
import type { JsonObject } from "../platform/json.ts";
import { refusals, type RefusalCode } from "../platform/refusals.ts";
import type { Components } from "./components.ts";
import { answerHeaders, refusalHeaders } from "./describe-headers.ts";
import { refusalSchema } from "./refusal-schema.ts";
import { asksUpstream, refusalsOf } from "./refusals-of.ts";

/** Every status this operation can answer with, and what comes with it. */
export function describeAnswers(
  operation: Operation,
  path: string,
  names: Names,
  components: Components,
): JsonObject {
  const byStatus = Object.groupBy(refusalsOf(operation), (code) => String(refusals[code].status));
  const refused = Object.entries(byStatus)
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([status, codes = []]): [string, JsonObject] => [
      status,
      describeRefusal({ operation, path, components, status: Number(status), codes }),
    ]);
  return {
    "200": {
      description: isSold(operation) && operation.streams ? "The answer, whole or streamed." : "The answer.",
      headers: answerHeaders(operation, names, components),
      content: describeSuccess(operation, components),
    },
    ...Object.fromEntries(refused),
    ...(asksUpstream(operation) ? { default: upstreamAnswer(components) } : {}),
  };
}

function describeSuccess(operation: Operation, components: Components): JsonObject {
  const answer = operation.response ?? z.unknown();
  const billed = operation.price.kind !== "free";
  const example = operation.example?.response;
  return {
    "application/json": {
      schema: billed
        ? { anyOf: [components.schema(answer), components.schema(costEstimate)] }
        : components.schema(answer),
      ...(example === undefined ? {} : { example }),
    },
    ...(isSold(operation) && operation.streams
      ? {
          "text/event-stream": {
            schema: components.schema(
              z
                .string()
                .describe(
                  "Server-sent events of this dialect. Comments (lines that begin with a colon) may come between them.",
                ),
            ),
          },
        }
      : {}),
  };
}

interface Refused {
  readonly operation: Operation;
  readonly path: string;
  readonly components: Components;
  readonly status: number;
  readonly codes: readonly RefusalCode[];
}

/** Refusals of one shape are written once, under a name that says which they are. */
function describeRefusal({ operation, path, components, status, codes }: Refused): JsonObject {
  const dialect = dialectOf(path);
  const passedOn = asksUpstream(operation) && !oursAlone.has(status);
  const name = refusalName(path, status, codes) + (passedOn ? "OrUpstream" : "");
  return components.shared("responses", name, () => {
    const schema = components.schema(refusalSchema({ dialect, path, status, codes }));
    return {
      description: `${titles[status] ?? "Refused."} Codes: ${codes.join(", ")}.`,
      headers: refusalHeaders(status, components),
      content: passedOn
        ? {
            "application/json": { schema: { anyOf: [schema, components.schema(upstreamWords)] } },
            "*/*": { schema: {} },
          }
        : { "application/json": { schema } },
    };
  });
}

/** What an upstream says with these statuses is about the operator, so it is withheld and said in our words. */
const oursAlone: ReadonlySet<number> = new Set([401, 402, 403, 429]);

const upstreamWords = z
  .unknown()
  .meta({ id: "UpstreamAnswer", description: "The upstream's own words, passed on as they came." });

const upstreamAnswer = (components: Components): JsonObject =>
  components.shared("responses", "Upstream", () => ({
    description: "Another answer of the upstream's, passed on with its status, body and content type.",
    headers: refusalHeaders(0, components),
    content: { "*/*": { schema: {} } },
  }));

const titles: Readonly<Record<number, string>> = {
  400: "The request is not valid; the message names the field.",
  401: "The key is missing or not valid.",
  402: "The call could cost more than it may.",
  403: "The key may not do this.",
  404: "There is no such thing here.",
  408: "The body did not arrive in time.",
  409: "The idempotency key is taken.",
  413: "The body is too large.",
  415: "The body's type or coding is not understood.",
  429: "A limit is reached; wait as long as Retry-After says.",
  500: "A fault of the gateway's.",
  502: "The provider could not be reached or broke off.",
  503: "A dependency is not available; nothing was charged.",
};

/** The price of a call that was not made. */
const costEstimate = z
  .object({
    object: z.literal("cost_estimate"),
    operation_id: z.string(),
    currency: z.literal("USD"),
    estimate_kind: z.enum(["exact", "estimate"]),
    estimated_cost_micros_usd: z.int().min(0),
    max_cost_micros_usd: z.int().min(0),
    may_exceed_estimate: z.boolean(),
    estimated_at: z.iso.datetime(),
    price_version: z.string(),
    breakdown: z.array(
      z.object({
        unit: z.string(),
        quantity: z.int().min(0),
        unit_price_usd: z.string(),
        cost_micros_usd: z.int().min(0),
      }),
    ),
  })
  .meta({ id: "CostEstimate", description: "In quote mode." });

/** Up to two codes name themselves; more are known by what they have in common, if anything. */
export function refusalName(path: string, status: number, codes: readonly RefusalCode[]): string {
  const usage = path === "/v1/usage" && status === 400 ? "Usage" : "";
  return `${dialectNames[dialectOf(path)]}${usage}${status}${codesName(codes)}`;
}

const dialectNames = { openai: "OpenAI", anthropic: "Anthropic", gemini: "Gemini", plain: "Plain" } as const;

function codesName(codes: readonly RefusalCode[]): string {
  if (codes.length <= 2) return codes.map(pascal).join("Or");
  if (codes.includes("link_required")) return "Linked";
  // A free call may find the books busy too, but has no price that could be missing.
  if (codes.includes("billing_dependency_timeout") && !codes.includes("billing_config_invalid"))
    return codes.includes("provider_unavailable") ? "FreeAtPlatform" : "Free";
  // And one about a model may find that model without a price, but books nothing.
  if (codes.includes("billing_config_invalid") && !codes.includes("billing_dependency_timeout"))
    return "FreeOfModel";
  const prefix = "traffic_analytics_";
  return codes.every((code) => code.startsWith(prefix)) ? pascal(prefix) : "";
}

const pascal = (code: string): string =>
  code
    .split("_")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
