import { isJsonObject, listOrEmpty, objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import type { Protocol } from "../protocol.ts";
import { microsPerUsd } from "../answers/read-cost.ts";
import { researchExchange, textOrNull } from "../exchanges/research.ts";

/** Exa's deepest search. Every answer says in USD what it cost. */
export const exa: Protocol = {
  callersError: (status, json) =>
    status === 403 && isJsonObject(json) && json["tag"] === "PROHIBITED_CONTENT"
      ? { status, json }
      : undefined,
  exchanges: {
    research: researchExchange({
      write: ({ query, instructions, max_results }) => ({
        query,
        type: "deep-reasoning",
        contents: { highlights: true },
        // Without it there are results and no answer, at the same cost.
        outputSchema: { type: "text" },
        ...(instructions === undefined ? {} : { systemPrompt: instructions }),
        ...(max_results === undefined ? {} : { numResults: max_results }),
      }),
      read: (json) => {
        const answer = isJsonObject(json["output"]) ? textOrNull(json["output"], "content") : null;
        if (answer === null) return undefined;
        return {
          answer,
          citations: objectsIn(json["results"]).map((result) => ({
            url: textOrNull(result, "url") ?? "",
            title: textOrNull(result, "title"),
            snippet: snippetOf(result),
            date: textOrNull(result, "publishedDate"),
          })),
          cost: {
            amount: objectOrEmpty(json["costDollars"])["total"],
            microsEach: microsPerUsd,
          },
        };
      },
    }),
  },
};

function snippetOf(result: JsonObject): string | null {
  const highlights = listOrEmpty(result["highlights"]);
  const [first] = highlights;
  return typeof first === "string" ? first : textOrNull(result, "text");
}
