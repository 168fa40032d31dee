import type { Addresses } from "../config/addresses.ts";
import type { Names } from "../operation/names.ts";
import { offeredExample } from "../offer/examples/example-request.ts";
import type { Offer, OfferedOperation } from "../offer/offer.ts";
import type { JsonObject } from "../platform/json.ts";
import { convert, createComponents, type SchemaTarget } from "./components.ts";
import { describeOperation, securitySchemes } from "./describe-operation.ts";
import { priceOf } from "./price-of.ts";
import { refusalsOf } from "./refusals-of.ts";

/** Bytes and what identifies them. */
export interface Contract {
  /** Lower-case SHA-256 of the bytes. */
  readonly contentHash: string;
  /** Names the input the bytes were made from: declarations, names, prices, addresses. */
  readonly docsRevision: string;
  readonly bytes: Uint8Array;
}

export interface ContractInput {
  readonly offer: Pick<Offer, "names" | "operations">;
  readonly addresses: Addresses;
}

/** The whole offer as one OpenAPI 3.1 document. The same input always makes the same bytes. */
export function createContract(input: ContractInput): Contract {
  const document = describeOffer(input, {
    openapi: "3.1.0",
    target: "draft-2020-12",
    title: "Tollgate",
    includes: () => true,
  });
  const bytes = bytesOf(document);
  return { contentHash: sha256(bytes), docsRevision: docsRevision(input), bytes };
}

/** The account and usage part as OpenAPI 3.0.3, for tools that know no newer one. */
export function createAccountContract(input: ContractInput): Contract {
  const document = describeOffer(input, {
    openapi: "3.0.3",
    target: "openapi-3.0",
    title: "Tollgate account and usage",
    includes: ({ operation }) => operation.category === "account",
  });
  const bytes = bytesOf(document);
  return { contentHash: sha256(bytes), docsRevision: docsRevision(input), bytes };
}

/** Does the slow part for one operation ahead: its schemas stay converted. */
export function describeAhead(offered: OfferedOperation, names: Names): void {
  describeOperation(offered, names, createComponents("draft-2020-12"));
}

export const sha256 = (bytes: Uint8Array | string): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

interface Form {
  readonly openapi: string;
  readonly target: SchemaTarget;
  readonly title: string;
  readonly includes: (offered: OfferedOperation) => boolean;
}

/** The version of the interface, which the paths carry too (/v1). What changes within it has a hash. */
const interfaceVersion = "1.0.0";

function describeOffer({ offer, addresses }: ContractInput, form: Form): JsonObject {
  const components = createComponents(form.target);
  const offered = [...offer.operations.values()].filter(form.includes).toSorted(byPathThenMethod);
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const one of offered) {
    const methods = (paths[one.path] ??= {});
    methods[one.operation.method.toLowerCase()] = describeOperation(one, offer.names, components);
  }
  return {
    openapi: form.openapi,
    info: { title: form.title, version: interfaceVersion, description: about(offer.names) },
    servers: [{ url: addresses.baseUrl }],
    tags: tagsOf(offered),
    paths,
    components: { ...components.all(), securitySchemes: schemesIn(paths) },
  };
}

const about = ({ provider }: Names): string =>
  [
    "A metered API gateway: every call is authenticated, limited, priced, held, forwarded, metered and settled.",
    `Send your key with every call: \`Authorization: Bearer tgk_…\`. A call that is tried from this reference is a real one, and is charged; with \`X-${provider}-Cost-Mode: quote\` it is priced instead of made.`,
    "Monetary values are integer micro-USD (1 USD = 1,000,000 micros). Prices (`x-price`) are estimates; account-specific pricing and final settlement may differ.",
    "Answers of an upstream keep their status, body and content type, JSON or not: look at both before parsing.",
    "An operation marked `x-definition: pending` is incomplete; do not invent its missing request fields.",
  ].join("\n\n");

const tagWords: Readonly<Record<string, string>> = {
  account: "Usage, balance, limits and receipts. Free.",
  data: "Data from social platforms, markets and the web.",
  models: "Model inference in three dialects, embeddings, images, videos, rerank.",
};

const tagsOf = (offered: readonly OfferedOperation[]): JsonObject[] =>
  [...new Set(offered.map(({ operation }) => operation.category))].toSorted().map((name) => ({
    name,
    ...(tagWords[name] === undefined ? {} : { description: tagWords[name] }),
  }));

function schemesIn(paths: JsonObject): JsonObject {
  const text = JSON.stringify(paths);
  return Object.fromEntries(
    Object.entries(securitySchemes).filter(([name]) => text.includes(`{"${name}":[]}`)),
  );
}

function byPathThenMethod(a: OfferedOperation, b: OfferedOperation): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.operation.method < b.operation.method ? -1 : 1;
}

/** Indented, so that people and version control can read it. */
const bytesOf = (document: JsonObject): Uint8Array => Buffer.from(`${JSON.stringify(document, null, 1)}\n`);

/** Made from what was declared and configured and not from the document, so another form of it keeps the revision. */
function docsRevision({ offer, addresses }: ContractInput): string {
  const operations = [...offer.operations.values()].toSorted(byPathThenMethod).map((offered) => ({
    ...declarationOf(offered),
    price: priceOf(offered),
  }));
  const input = { names: offer.names, baseUrl: addresses.baseUrl, operations };
  return `docs_${sha256(JSON.stringify(input)).slice(0, 24)}`;
}

function declarationOf(offered: OfferedOperation): JsonObject {
  const { operation } = offered;
  const { id, title, summary, notes, category, method, path, params, headers } = operation;
  const example = offeredExample(offered);
  const { query, body, response, definition, limits } = operation;
  return {
    declared: { id, title, summary, notes, category, method, path, params, headers, example },
    definition,
    limits,
    refusals: refusalsOf(operation),
    query: convert(query, "draft-2020-12"),
    body: body && convert(body, "draft-2020-12"),
    response: response && convert(response, "draft-2020-12"),
  };
}
