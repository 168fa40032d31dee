import { z } from "zod";
import type { Conventions } from "../offer/conventions.ts";
import type { OfferedOperation } from "../offer/offer.ts";
import { costEstimate } from "../operation/cost-estimate.ts";
import type { Names } from "../operation/names.ts";
import { isSold, type Operation } from "../operation/operation.ts";
import type { JsonObject } from "../platform/json.ts";
import type { RefusalCode } from "../platform/refusals.ts";
import type { Components } from "./components.ts";
import { describeAnswerHeaders, headersName, refusalHeaders, type Negative } from "./describe-headers.ts";
import { refusalSchema } from "./refusal-schema.ts";
import { refusalsByStatus, upstreamMeaning, type RefusalsOfStatus } from "./refusals-by-status.ts";
import { hearsUpstream } from "./refusals-of.ts";

/** Every status this operation can answer with, and what comes with it. */
export function describeAnswers(
  { operation, conventions }: OfferedOperation,
  names: Names,
  components: Components,
): JsonObject {
  const context = { operation, conventions, names, components };
  const refused = refusalsByStatus(operation).map((refusal): [string, JsonObject] => [
    String(refusal.status),
    describeRefusal(refusal, context),
  ]);
  return {
    "200": {
      description: isSold(operation) && operation.streams ? "The answer, whole or streamed." : "The answer.",
      headers: describeAnswerHeaders(operation, conventions, names, components),
      content: describeSuccess(operation, components),
    },
    ...Object.fromEntries(refused),
    ...(hearsUpstream(operation) ? { default: upstreamAnswer(context) } : {}),
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

interface Context {
  readonly operation: Operation;
  readonly conventions: Conventions;
  readonly names: Names;
  readonly components: Components;
}

/** Refusals of one shape are written once, under a name that says which they are. */
function describeRefusal(
  { status, meaning, codes }: RefusalsOfStatus,
  { operation, conventions, names, components }: Context,
): JsonObject {
  const passedOn = hearsUpstream(operation) && !oursAlone.has(status);
  const negative: Negative = {
    operation,
    conventions,
    refused: { status, codes },
    asked: passedOn || codes.includes(saidAfterAsking),
  };
  const name =
    refusalName(conventions, status, codes) + (passedOn ? "OrUpstream" : "") + headersName(negative);
  return components.shared("responses", name, () => {
    const schema = components.schema(refusalSchema({ conventions, status, codes }));
    return {
      description: `${meaning} Codes: ${codes.join(", ")}.`,
      headers: refusalHeaders(negative, names, components),
      content: passedOn
        ? {
            "application/json": { schema: { anyOf: [schema, components.schema(upstreamWords)] } },
            "*/*": { schema: {} },
          }
        : { "application/json": { schema } },
    };
  });
}

/**
 * What an upstream says with these statuses is about the operator, so it is withheld and said in our words. Its 403 may be
 * about what the caller wrote, or about a linked account, and is passed on then.
 */
const oursAlone: ReadonlySet<number> = new Set([401, 402, 429]);

/** And with this one of ours an upstream has been asked all the same. */
const saidAfterAsking: RefusalCode = "upstream_rate_limit";

const upstreamWords = z
  .unknown()
  .meta({ id: "UpstreamAnswer", description: "The upstream's own words, passed on as they came." });

function upstreamAnswer({ operation, conventions, names, components }: Context): JsonObject {
  const negative: Negative = { operation, conventions, refused: undefined, asked: true };
  return components.shared("responses", `Upstream${headersName(negative)}`, () => ({
    description: upstreamMeaning,
    headers: refusalHeaders(negative, names, components),
    content: { "*/*": { schema: {} } },
  }));
}

/** Up to two codes name themselves; more are known by what they have in common, if anything. */
export function refusalName(
  { dialect, messageOnly400 }: Conventions,
  status: number,
  codes: readonly RefusalCode[],
): string {
  // Published under the name of the operation that was the first to refuse so.
  const messageOnly = messageOnly400 && status === 400 ? "Usage" : "";
  return `${dialectNames[dialect]}${messageOnly}${status}${codesName(codes)}`;
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
