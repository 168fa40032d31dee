// Jina rerank.

import { rank, rankTokens } from "./ranking.ts";
import { readRerankRequest } from "./rerank-request.ts";
import type { RerankRequest } from "./rerank-request.ts";
import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler } from "./vendor-double.ts";
import { hasBearer, jsonAnswer, readJsonObject, resolveOverride, unknownField } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonValue, Override } from "./vendor-checks.ts";

export interface JinaBilled {
  readonly model: string;
  readonly usage: JsonValue;
}

export interface JinaOptions {
  readonly key: string;
  readonly models?: readonly string[];
  readonly results?: Override<RerankRequest>;
  readonly usage?: Override<RerankRequest>;
}

export const openJinaDouble = async ({
  key,
  models = ["jina-reranker-v3", "jina-reranker-v2-base-multilingual"],
  results,
  usage,
}: JinaOptions): Promise<BookkeepingDouble<JinaBilled>> => {
  const book: BookEntry<JinaBilled>[] = [];

  const rerank: Handler = (request) => {
    if (!hasBearer(request, key)) return refuse(401, "Invalid API key.");
    const body = readJsonObject(request);
    if (typeof body === "string") return refuse(422, body);
    const stranger = unknownField(body, knownFields);
    if (stranger !== undefined) return refuse(422, `${stranger}: extra inputs are not permitted`);
    const asked = readRerankRequest(body, { topField: "top_n", textObjects: true });
    if (typeof asked === "string") return refuse(422, `${asked}: missing or invalid`);
    const returnDocuments = body["return_documents"] ?? true;
    if (typeof returnDocuments !== "boolean") return refuse(422, "return_documents: not a boolean");
    if (!models.includes(asked.model)) return refuse(400, `Model ${asked.model} not found`);

    const honestUsage = { total_tokens: rankTokens(asked) };
    const stated = resolveOverride({ override: usage, input: asked, honest: honestUsage });
    book.push({
      requestId: null,
      billed: { model: asked.model, usage: stated ?? honestUsage },
      request,
    });
    const honest = rank(asked)
      .slice(0, asked.top)
      .map((item) => ({
        ...item,
        ...(returnDocuments && { document: { text: asked.documents[item.index] ?? "" } }),
      }));
    return jsonAnswer(200, {
      model: asked.model,
      usage: stated,
      results: resolveOverride({ override: results, input: asked, honest }),
    });
  };

  const double = await openVendorDouble({
    basePath: "/v1",
    handlers: { "POST /v1/rerank": rerank, "*": () => refuse(404, "Not Found") },
  });
  return { ...double, book };
};

const knownFields = ["model", "query", "documents", "top_n", "return_documents"];

const refuse = (status: number, detail: string): Answer => jsonAnswer(status, { detail });
