// Deep research, whoever does it: the same question in, the same answer out.

import { costUnit } from "../../operation/price.ts";
import type { HiddenFailure } from "../../operation/exchanged.ts";
import type { Dispatch } from "../../operation/forwarder.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { errorBodyOf } from "../dialects/dialect-errors.ts";
import { hiddenFailureIn, statusSaidIn } from "../answers/hidden-error.ts";
import type { Exchange } from "../protocol.ts";
import { costReading, readCostMicros, type Cost } from "../answers/read-cost.ts";

/** The catalogue's schema for research.deep_search has exactly these members. */
interface ResearchBody {
  readonly query: string;
  readonly instructions?: string | undefined;
  readonly max_results?: number | undefined;
}

export interface Citation {
  readonly url: string;
  readonly title: string | null;
  readonly snippet: string | null;
  readonly date: string | null;
}

/** What is particular about one vendor. */
interface Researcher {
  /** The question in this vendor's words. Throws Inexpressible for what it cannot be told. */
  readonly write: (body: ResearchBody) => JsonObject;
  /** Undefined when the vendor did not answer the question: it failed, or says nothing. */
  readonly read: (json: JsonObject) => Found | undefined;
}

interface Found {
  readonly answer: string;
  readonly citations: readonly Citation[];
  readonly cost: Cost;
  /** Further figures of the vendor's, for the caller to see. */
  readonly figures?: JsonObject;
}

export function researchExchange(vendor: Researcher): Exchange {
  const bodyOf = (dispatch: Dispatch): ResearchBody => dispatch.input.body as ResearchBody;
  const foundIn = (json: unknown): Found | undefined => (isJsonObject(json) ? vendor.read(json) : undefined);
  // Links alone are no answer either, whatever they cost the operator.
  const hiddenFailure = (json: unknown): HiddenFailure | undefined =>
    foundIn(json) ? undefined : (hiddenFailureIn(json, () => false) ?? "malformed");
  return {
    request: (dispatch) => ({
      method: "POST",
      path: dispatch.service.path,
      body: JSON.stringify(vendor.write(bodyOf(dispatch))),
    }),
    // Ours is another shape than any vendor's, so whatever is told in place of an answer is told as what it is.
    translates: () => true,
    hiddenFailure,
    read: (json, dispatch) => {
      const found = foundIn(json);
      if (found === undefined) return { error: { status: statusSaidIn(errorBodyOf(json)), json } };
      const anomalies: string[] = [];
      const micros = readCostMicros(found.cost, anomalies);
      const { answer, figures } = found;
      const citations = found.citations.slice(0, bodyOf(dispatch).max_results);
      const usage = { ...(micros === undefined ? {} : { [costUnit]: micros }), ...figures };
      return { tokens: costReading(micros, anomalies), json: { answer, citations, usage } };
    },
  };
}

/** A member that is a text, or null. */
export function textOrNull(from: JsonObject, name: string): string | null {
  const value = from[name];
  return typeof value === "string" && value !== "" ? value : null;
}
