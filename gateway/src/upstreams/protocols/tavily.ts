import { objectOrEmpty, objectsIn } from "../../platform/json.ts";
import { Inexpressible } from "../dialects/dialect.ts";
import type { Protocol } from "../protocol.ts";
import { researchExchange, textOrNull } from "../exchanges/research.ts";

/** Pay-as-you-go: 0.008 USD. An operator on another plan corrects it by `cost_factor`. */
const microsPerCredit = 8_000n;

/** Tavily refuses a longer one. */
const queryCharactersMax = 400;

/** Statuses of its own: the plan's limit, and the limit of what may be paid beyond it, are used up. */
const isUsedUp = (status: number): boolean => status === 432 || status === 433;

/** Tavily's search, in depth and with an answer. It bills in credits and tells them only to those who ask. */
export const tavily: Protocol = {
  isAboutOperator: isUsedUp,
  isOutOfCredit: isUsedUp,
  exchanges: {
    research: researchExchange({
      write: ({ query, instructions, max_results }) => {
        if (instructions !== undefined) throw new Inexpressible("instructions", "Tavily takes none");
        if ([...query].length > queryCharactersMax)
          throw new Inexpressible("query", `Tavily takes at most ${queryCharactersMax} characters`);
        return {
          query,
          search_depth: "advanced",
          include_answer: "advanced",
          include_usage: true,
          ...(max_results === undefined ? {} : { max_results }),
        };
      },
      read: (json) => {
        const answer = textOrNull(json, "answer");
        if (answer === null) return undefined;
        const credits = objectOrEmpty(json["usage"])["credits"];
        return {
          answer,
          citations: objectsIn(json["results"]).map((result) => ({
            url: textOrNull(result, "url") ?? "",
            title: textOrNull(result, "title"),
            snippet: textOrNull(result, "content"),
            date: textOrNull(result, "published_date"),
          })),
          cost: { amount: credits, microsEach: microsPerCredit },
          figures: { credits },
        };
      },
    }),
  },
};
