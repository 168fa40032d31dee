// Cohere rerank v2: bills search units, never echoes documents.

import { rank } from "./ranking.ts";
import { readRerankRequest } from "./rerank-request.ts";
import type { RerankRequest } from "./rerank-request.ts";
import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler } from "./vendor-double.ts";
import {
  createIds,
  hasBearer,
  isPositiveInteger,
  jsonAnswer,
  readJsonObject,
  resolveOverride,
  unknownField,
} from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonValue, Override } from "./vendor-checks.ts";

export interface CohereBilled {
  readonly model: string;
  /** `meta.billed_units` as it would be honestly; `meta` when a test replaced it. */
  readonly units: JsonValue;
}

export interface CohereOptions {
  readonly key: string;
  readonly models?: readonly string[];
  readonly results?: Override<RerankRequest>;
  /** Replaces `meta`, where Cohere states what it bills. */
  readonly meta?: Override<RerankRequest>;
}

export const openCohereDouble = async ({
  key,
  models = ["rerank-v3.5"],
  results,
  meta,
}: CohereOptions): Promise<BookkeepingDouble<CohereBilled>> => {
  const book: BookEntry<CohereBilled>[] = [];
  const nextId = createIds("cohere-");

  const rerank: Handler = (request) => {
    if (!hasBearer(request, key)) return refuse(401, "invalid api token");
    const body = readJsonObject(request);
    if (typeof body === "string") return refuse(400, `invalid request: ${body}`);
    const stranger = unknownField(body, knownFields);
    if (stranger !== undefined) {
      return refuse(400, `unknown field: parameter '${stranger}' is not a valid field`);
    }
    const asked = readRerankRequest(body, { topField: "top_n", textObjects: false });
    if (typeof asked === "string") return refuse(400, `invalid request: ${asked} is required`);
    if (!isPositiveInteger(body["max_tokens_per_doc"] ?? 1)) {
      return refuse(400, "invalid request: max_tokens_per_doc must be a positive integer");
    }
    if (!models.includes(asked.model)) return refuse(404, `model '${asked.model}' not found`);

    const billedUnits = { search_units: Math.ceil(asked.documents.length / documentsPerUnit) };
    const honestMeta = { api_version: { version: "2" }, billed_units: billedUnits };
    const stated = resolveOverride({ override: meta, input: asked, honest: honestMeta });
    const units = stated === undefined || stated === honestMeta ? billedUnits : stated;
    const id = nextId();
    book.push({ requestId: id, billed: { model: asked.model, units }, request });
    const honest = rank(asked)
      .slice(0, asked.top)
      .map((item) => ({ ...item }));
    return jsonAnswer(200, {
      id,
      results: resolveOverride({ override: results, input: asked, honest }),
      meta: stated,
    });
  };

  const double = await openVendorDouble({
    basePath: "/v2",
    handlers: { "POST /v2/rerank": rerank, "*": () => refuse(404, "not found") },
  });
  return { ...double, book };
};

const documentsPerUnit = 100;
const knownFields = ["model", "query", "documents", "top_n", "max_tokens_per_doc"];

const refuse = (status: number, message: string): Answer => jsonAnswer(status, { message });
