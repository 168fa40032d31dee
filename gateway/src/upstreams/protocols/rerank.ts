import { modelOf, type Dispatch } from "../../operation/forwarder.ts";
import type { TokenReading } from "../../operation/token-reading.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { hiddenFailureIn } from "../answers/hidden-error.ts";
import type { Exchange, Protocol } from "../protocol.ts";
import { readCount } from "../../prices/read-count.ts";

// Three vendors, one answer: the same request under other names, the results re-attached to the caller's
// own documents and sorted, the billed tokens read from wherever the vendor puts them.

interface Dialect {
  readonly topName: "top_n" | "top_k";
  readonly extras: JsonObject;
  readonly listName: "results" | "data";
  readonly tokens: (json: JsonObject) => unknown;
}

const rerankProtocol = (dialect: Dialect): Protocol => ({
  exchanges: { rerank: rerankExchange(dialect) },
});

const totalTokens = (json: JsonObject): unknown => member(json["usage"], "total_tokens");

export const jina = rerankProtocol({
  topName: "top_n",
  extras: { return_documents: false },
  listName: "results",
  tokens: totalTokens,
});

export const voyage = rerankProtocol({
  topName: "top_k",
  extras: { return_documents: false },
  listName: "data",
  tokens: totalTokens,
});

/** Cohere bills by search and only sometimes counts tokens; without a count the usage is an estimate. */
export const cohere = rerankProtocol({
  topName: "top_n",
  extras: {},
  listName: "results",
  tokens: (json) => member(member(json["meta"], "tokens"), "input_tokens"),
});

interface RerankBody {
  readonly query: string;
  readonly documents: readonly string[];
  readonly top_n?: number | null;
}

/** The catalogue's schema for rerank.create has exactly these members. */
const bodyOf = (dispatch: Dispatch): RerankBody => dispatch.input.body as RerankBody;

function rerankExchange(dialect: Dialect): Exchange {
  return {
    request: (dispatch) => {
      const { query, documents, top_n: top } = bodyOf(dispatch);
      const limit = isAbsent(top) ? {} : { [dialect.topName]: Math.min(top, documents.length) };
      return {
        method: "POST",
        path: dispatch.service.path,
        body: JSON.stringify({
          model: modelOf(dispatch).name,
          query,
          documents,
          ...limit,
          ...dialect.extras,
        }),
      };
    },
    hiddenFailure: (json) => hiddenFailureIn(json, (answer) => Array.isArray(answer[dialect.listName])),
    read: (json, dispatch) => {
      const anomalies: string[] = [];
      const results = isJsonObject(json) ? readResults(json[dialect.listName], bodyOf(dispatch)) : undefined;
      if (!results || !isJsonObject(json)) return {};
      const counted = readCount(dialect.tokens(json), "total_tokens", anomalies);
      const tokens: TokenReading = {
        used: counted === undefined ? undefined : { input_tokens: counted },
        // What was sent is all there is to pay for, and it is expected already; but an empty ranking is no delivery.
        estimate: results.length === 0 ? undefined : {},
        anomalies,
      };
      return {
        tokens,
        asBilled: ({ input_tokens: billed = 0 }) => ({
          model: modelOf(dispatch).askedAs,
          results,
          usage: { total_tokens: billed },
        }),
      };
    },
  };
}

interface Result {
  readonly index: number;
  readonly relevance_score: number;
  readonly document: { readonly text: string };
}

/** Undefined when the answer is not a ranking of these documents. */
function readResults(list: unknown, { documents, top_n: top }: RerankBody): Result[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const results: Result[] = [];
  const seen = new Set<unknown>();
  for (const item of list) {
    const index: unknown = member(item, "index");
    const score: unknown = member(item, "relevance_score");
    const text = typeof index === "number" ? documents[index] : undefined;
    if (typeof index !== "number" || typeof score !== "number" || text === undefined) return undefined;
    if (seen.has(index)) return undefined;
    seen.add(index);
    results.push({ index, relevance_score: score, document: { text } });
  }
  results.sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index);
  return isAbsent(top) ? results : results.slice(0, top);
}

const isAbsent = (value: number | null | undefined): value is null | undefined =>
  value === null || value === undefined;

const member = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined);
