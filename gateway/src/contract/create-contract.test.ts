import { expect, test } from "bun:test";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { completeAddresses } from "../config/addresses.ts";
import { parseConfig } from "../config/load-config.ts";
import { createOffer } from "../offer/create-offer.ts";
import { loadCatalogue } from "../operation/catalogue.ts";
import { defineOperation, fixed, z } from "../for-catalogues.ts";
import { refusals, type RefusalCode } from "../platform/refusals.ts";
import { createAccountContract, createContract, sha256, type Contract } from "./create-contract.ts";
import { refusalName } from "./describe-answers.ts";
import { refusalsByStatus } from "./refusals-by-status.ts";
import { hearsUpstream, refusalsOf } from "./refusals-of.ts";

const catalogue = await loadCatalogue([join(import.meta.dir, "../../../catalogue")]);

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly responses: Readonly<Record<string, DescribedAnswer>> };
}

interface DescribedAnswer {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}

interface Described {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name?: string; readonly $ref?: string }[];
  readonly security: readonly object[];
  readonly responses: Readonly<Record<string, DescribedAnswer>>;
  readonly "x-price": Readonly<Record<string, unknown>>;
  readonly "x-definition"?: string;
  readonly "x-streams"?: string;
}

const inputOf = (config = "", baseUrl = "http://127.0.0.1:8787") => ({
  offer: createOffer(catalogue, parseConfig(config, "test", {}), "http://sandbox.invalid"),
  addresses: completeAddresses(baseUrl),
});

const read = ({ bytes }: Contract): Document => JSON.parse(new TextDecoder().decode(bytes)) as Document;

const operationsIn = (contract: Contract): Map<string, Described & { path: string }> =>
  new Map(
    Object.entries(read(contract).paths).flatMap(([path, methods]) =>
      Object.values(methods).map((described) => [described.operationId, { ...described, path }] as const),
    ),
  );

test("both contracts are valid OpenAPI, in the versions they claim", async () => {
  for (const [contract, version] of [
    [createContract(inputOf()), "3.1.0"],
    [createAccountContract(inputOf()), "3.0.3"],
  ] as const) {
    const document = read(contract);
    const { valid, errors } = await new Validator().validate({ ...document });
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(document.openapi).toBe(version);
    expect(document.info.version).toBe("1.0.0");
  }
});

test("the contract has every operation of the offer, the account's has those of the account", () => {
  const { offer } = inputOf();
  expect([...operationsIn(createContract(inputOf())).keys()].toSorted()).toEqual(
    [...offer.operations.keys()].toSorted(),
  );
  const account = [...offer.operations.values()].filter(({ operation }) => operation.category === "account");
  expect([...operationsIn(createAccountContract(inputOf())).keys()].toSorted()).toEqual(
    account.map(({ operation }) => operation.id).toSorted(),
  );
});

test("the same input makes the same bytes, in whatever order it is given", () => {
  // None of the models that the catalogue's own examples name is on offer at such an upstream.
  const own = `
upstreams: { own: { protocol: openai, url: "http://127.0.0.1:9/v1", models: [a, b] } }
operations: { images.generate: { default_model: a } }
`;
  const written = `${own}
models:
  b: { price: { input: 1, output: 2 } }
  a: { price: { input: 1, output: 2 } }
`;
  const turned = `${own}
models:
  a: { price: { output: 2, input: 1 } }
  b: { price: { output: 2, input: 1 } }
`;
  const first = createContract(inputOf(written));
  const again = createContract({
    ...inputOf(turned),
    offer: createOffer(
      { operations: catalogue.operations.toReversed(), models: catalogue.models.toReversed() },
      parseConfig(turned, "test", {}),
      "http://sandbox.invalid",
    ),
  });
  expect(again.contentHash).toBe(first.contentHash);
  expect(again.docsRevision).toBe(first.docsRevision);
  expect(Buffer.compare(again.bytes, first.bytes)).toBe(0);
  expect(first.contentHash).toBe(sha256(first.bytes));
});

test("a price, a name or an address makes another hash and another revision", () => {
  const contracts = [
    inputOf(),
    inputOf("operations: { financial.metrics.snapshot: { price_usd: 0.05 } }"),
    inputOf("names: { social_a: chirp }"),
    inputOf("", "https://api.example"),
  ].map(createContract);
  expect(new Set(contracts.map(({ contentHash }) => contentHash)).size).toBe(contracts.length);
  expect(new Set(contracts.map(({ docsRevision }) => docsRevision)).size).toBe(contracts.length);
});

test("names are bound in paths and headers, and never in operation ids", () => {
  const found = operationsIn(createContract(inputOf("names: { social_a: chirp, provider: Acme }")));
  const quotes = found.get("social_a.tweet.quotes");
  expect(quotes?.path).toBe("/apis/v1/chirp/tweet/quotes");
  expect(quotes?.parameters?.map(({ name, $ref }) => name ?? $ref)).toEqual([
    "tweetId",
    "cursor",
    "#/components/parameters/X-Acme-Cost-Mode",
    "#/components/parameters/X-Acme-Max-Price-USD",
  ]);
});

test("prices, keys and what is pending stand with each operation", () => {
  const found = operationsIn(createContract(inputOf()));
  expect(found.get("reseller.social_c.tag_detail")?.["x-price"]).toMatchObject({
    kind: "per_unit",
    unit: "call",
    usd_per_unit: "0.00145",
    estimate: true,
  });
  expect(found.get("rerank.create")?.["x-price"]).toMatchObject({
    kind: "per_token",
    default_model: "jina-reranker-v3",
  });
  expect(found.get("messages.create")?.security).toEqual([{ bearer: [] }, { "x-api-key": [] }]);
  expect(found.get("models.generate_content")?.security).toEqual([{ bearer: [] }, { "x-goog-api-key": [] }]);
  const pending = [...found.values()].filter((one) => one["x-definition"] === "pending");
  expect(pending.map(({ operationId }) => operationId).toSorted()).toEqual([
    "reseller.social_b.user_stories",
    "traffic_analytics.website.traffic_engagement",
  ]);
  for (const { parameters = [] } of pending) expect(parameters.filter(({ name }) => name)).toEqual([]);
});

/** A receipt's id is known only once there is a call, a task's once it was created, and a follow needs a link. */
const needSomethingEarlier: ReadonlySet<string> = new Set([
  "requests.get",
  "tasks.get",
  "tasks.cancel",
  "social_a.follow",
  "social_a.links.revoke",
]);

test("an operation of one's own says what decides whether it streams, and that it begins a task", () => {
  const common = {
    title: "Own",
    summary: "One's own.",
    category: "data",
    method: "POST",
    body: z.looseObject({}),
    price: fixed("0.01"),
    servedBy: { openai: { exchange: "chat", path: "/own" } },
  } as const;
  const own = [
    defineOperation({ ...common, id: "own.always", path: "/apis/v1/a", streams: () => true }),
    defineOperation({
      ...common,
      id: "own.flag",
      path: "/apis/v1/b",
      streams: ({ body }) => body["stream"] === true,
    }),
    defineOperation({
      ...common,
      id: "own.word",
      path: "/apis/v1/c",
      streams: ({ body }) => body["mode"] === "live",
    }),
    defineOperation({
      ...common,
      id: "own.list",
      path: "/apis/v1/d",
      body: z.object({ modes: z.array(z.string()) }),
      streams: ({ body }) => body.modes.includes("live"),
    }),
    defineOperation({ ...common, id: "own.task", path: "/apis/v1/e", task: { openMax: 1 } }),
  ];
  const offer = createOffer(
    { ...catalogue, operations: own },
    parseConfig("names: { provider: Acme }", "test", {}),
    "http://sandbox.invalid",
  );
  const found = operationsIn(createContract({ ...inputOf(), offer }));
  const streaming = [...found].map(([id, described]) => [id, described["x-streams"]]);
  expect(Object.fromEntries(streaming)).toEqual({
    "own.always": "always",
    "own.flag": "flag",
    "own.word": "sometimes",
    "own.list": "sometimes",
    "own.task": undefined,
  });
  const header = found.get("own.task")?.parameters?.find(({ name }) => name === "X-Acme-Async");
  expect(header).toMatchObject({ in: "header", required: true, schema: { enum: ["enable"] } });
});

test("every operation of the catalogue says what it answers and what its path parameters are", () => {
  const lacking = catalogue.operations.flatMap(({ id, path, response, params, example }) => [
    ...(response ? [] : [`${id}: response`]),
    ...(example || needSomethingEarlier.has(id) ? [] : [`${id}: example`]),
    ...[...path.matchAll(/\{(?!social_|reseller|traffic_analytics)(\w+)\}/g)]
      .filter(([, name = ""]) => params?.[name] === undefined)
      .map(([, name]) => `${id}: params.${name}`),
  ]);
  expect(lacking).toEqual([]);
});

test("every refusal there is belongs to some operation", () => {
  const declared = new Set(catalogue.operations.flatMap(refusalsOf));
  // Made where there is no operation: by the HTTP parser, for methods and protocols that nothing has, by the site, to agents.
  const elsewhere: readonly RefusalCode[] = [
    "headers_too_large",
    "websocket_unsupported",
    "method_not_allowed",
    "unknown_operation",
    "contract_hash_mismatch",
    "contract_unavailable",
    "definition_pending",
    "approval_declined",
  ];
  // Object.keys is typed as strings; these are the keys of the table itself.
  const codes = Object.keys(refusals) as RefusalCode[];
  expect(codes.filter((code) => !declared.has(code) && !elsewhere.includes(code))).toEqual([]);
});

test("no two different refusals share a name", () => {
  const byName = new Map<string, string>();
  for (const { operation, conventions } of inputOf().offer.operations.values()) {
    for (const { status, codes } of refusalsByStatus(operation)) {
      const name = refusalName(conventions, status, codes);
      expect([name, byName.get(name) ?? codes.join()]).toEqual([name, codes.join()]);
      byName.set(name, codes.join());
    }
  }
});

test("headers about tokens, charges and upstreams are named where there can be some, and nowhere else", () => {
  const contract = createContract(inputOf());
  const { components } = read(contract);
  const described = operationsIn(contract);
  for (const operation of catalogue.operations) {
    const { id, price } = operation;
    for (const [status, written] of Object.entries(described.get(id)?.responses ?? {})) {
      const { headers = {} } = components.responses[written.$ref?.split("/").at(-1) ?? ""] ?? written;
      const about = (word: string): boolean => Object.keys(headers).some((name) => name.endsWith(word));
      const isOurs = status === "401" || status === "402";
      expect([id, status, about("-Tokens")]).toEqual([id, status, price.kind === "per_token"]);
      if (price.kind === "free" || isOurs)
        expect([id, status, about("Cost-Micros-USD")]).toEqual([id, status, false]);
      if (!hearsUpstream(operation) || isOurs) {
        expect([id, status, about("-Upstream")]).toEqual([
          id,
          status,
          id === "tasks.get" && status === "200",
        ]);
      }
    }
  }
});
