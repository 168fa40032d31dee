import { isJsonObject, objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import type { Protocol } from "../protocol.ts";
import { microsPerUsd } from "../answers/read-cost.ts";
import { researchExchange, textOrNull, type Citation } from "../exchanges/research.ts";

/**
 * Perplexity's Agent API. It refuses members it does not know, and reports failure as HTTP 200 with a status of its
 * own; what it charged stands in `usage.cost`.
 */
export const perplexity: Protocol = {
  exchanges: {
    research: researchExchange({
      write: ({ query, instructions }) => ({
        preset: "high",
        input: query,
        ...(instructions === undefined ? {} : { instructions }),
      }),
      read: (json) => {
        const output = objectsIn(json["output"]);
        const answer = textOf(output);
        // An answer that was cut short is one, and is billed; one that failed is none.
        const answered = json["status"] === "completed" || json["status"] === "incomplete";
        if (!answered || answer === "") return undefined;
        const usage = objectOrEmpty(json["usage"]);
        const { input_tokens, output_tokens } = usage;
        return {
          answer,
          citations: output.flatMap(citationsIn),
          cost: { amount: costIn(usage["cost"]), microsEach: microsPerUsd },
          figures: { input_tokens, output_tokens },
        };
      },
    }),
  },
};

const textOf = (output: readonly JsonObject[]): string =>
  output
    .filter(({ type }) => type === "message")
    .flatMap(({ content }) => objectsIn(content))
    .map((part) => (part["type"] === "output_text" ? (textOrNull(part, "text") ?? "") : ""))
    .join("");

const citationsIn = (item: JsonObject): Citation[] =>
  item["type"] !== "search_results"
    ? []
    : objectsIn(item["results"]).map((result) => ({
        url: textOrNull(result, "url") ?? "",
        title: textOrNull(result, "title"),
        snippet: textOrNull(result, "snippet"),
        date: textOrNull(result, "date"),
      }));

/** Another currency would be another amount; nobody sends one. */
const costIn = (cost: unknown): unknown =>
  isJsonObject(cost) && (cost["currency"] ?? "USD") === "USD" ? cost["total_cost"] : undefined;
