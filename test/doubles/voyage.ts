// Voyage rerank: `top_k` in, `data` out, documents as bare strings.

import { rank, rankTokens } from "./ranking.ts";
import { readRerankRequest } from "./rerank-request.ts";
import type { RerankRequest } from "./rerank-request.ts";
import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler } from "./vendor-double.ts";
import { hasBearer, jsonAnswer, readJsonObject, resolveOverride, unknownField } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonValue, Override } from "./vendor-checks.ts";

export interface VoyageBilled {
  readonly model: string;
  readonly usage: JsonValue;
}

export interface VoyageOptions {
  readonly key: string;
  readonly models?: readonly string[];
  /** Replaces the list, which Voyage calls `data`. */
  readonly results?: Override<RerankRequest>;
  readonly usage?: Override<RerankRequest>;
}

export const openVoyageDouble = async ({
  key,
  models = ["rerank-2.5", "rerank-2.5-lite"],
  results,
  usage,
}: VoyageOptions): Promise<BookkeepingDouble<VoyageBilled>> => {
  const book: BookEntry<VoyageBilled>[] = [];

  const rerank: Handler = (request) => {
    if (!hasBearer(request, key)) return refuse(401, "Provided API key is invalid.");
    const body = readJsonObject(request);
    if (typeof body === "string") return refuse(400, body);
    const stranger = unknownField(body, knownFields);
    if (stranger !== undefined) {
      return refuse(400, `Argument '${stranger}' is not supported by our API`);
    }
    const asked = readRerankRequest(body, { topField: "top_k", textObjects: false });
    if (typeof asked === "string") return refuse(400, `Argument '${asked}' is missing or invalid`);
    for (const name of ["return_documents", "truncation"]) {
      if (!["boolean", "undefined"].includes(typeof body[name])) {
        return refuse(400, `Argument '${name}' is not a boolean`);
      }
    }
    if (!models.includes(asked.model)) {
      return refuse(400, `Model ${asked.model} is not supported. Supported: ${models.join(", ")}.`);
    }

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
        ...(body["return_documents"] === true && { document: asked.documents[item.index] ?? "" }),
      }));
    return jsonAnswer(200, {
      object: "list",
      data: resolveOverride({ override: results, input: asked, honest }),
      model: asked.model,
      usage: stated,
    });
  };

  const double = await openVendorDouble({
    basePath: "/v1",
    handlers: { "POST /v1/rerank": rerank, "*": () => refuse(404, "Not Found") },
  });
  return { ...double, book };
};

const knownFields = ["model", "query", "documents", "top_k", "return_documents", "truncation"];

const refuse = (status: number, detail: string): Answer => jsonAnswer(status, { detail });
