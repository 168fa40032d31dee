// The contract against the running gateway: requests made from nothing but the contract, right and spoilt, and no
// answer that it does not declare. A failure prints its seed; CONTRACT_SEED repeats a run.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { listOf, objectOf, readOperations, type DeclaredOperation, type Json } from "./contract-reader.ts";
import { createJudge, type Answered, type Judge } from "./declared-answers.ts";
import { exampleRequest, rightRequests, spoiltRequests, type MadeRequest } from "./requests.ts";
import { inJsonSchema } from "./openapi-3-0.ts";
import { isSold } from "../../gateway/src/operation/operation.ts";
import { signInWith } from "../sign-in/oauth-person.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { linkInSandbox } from "../support/visitor.ts";

const seed = Number(process.env["CONTRACT_SEED"] ?? Date.now() % 2 ** 31);
const runsEach = Number(process.env["CONTRACT_RUNS"] ?? 20);
const roomyTiers = "tiers: { enterprise: { rpm: 1000000, tpm: 1000000000, concurrency: 10000 } }";

let gateway: TestGateway;
let account: TestAccount;
let document: Json;
let judge: Judge;
/** The account's part says the same in OpenAPI 3.0.3: its operations by id, and who judges by it. */
let accountOperations: ReadonlyMap<string, DeclaredOperation>;
let accountJudge: Judge;
let receiptId: string;

/** The ids are needed before anything runs, so that each operation is a test of its own. */
const committed: unknown = await Bun.file(new URL("../../contract/openapi.json", import.meta.url)).json();
const operationIds = readOperations(objectOf(committed)).map(({ id }) => id);

beforeAll(async () => {
  process.stderr.write(`contract answers: CONTRACT_SEED=${seed}\n`);
  gateway = await openTestGateway({ config: roomyTiers });
  account = await openAccount();
  const version = (await (await fetch(`${gateway.url}/api/contracts/version`)).json()) as {
    contentHash: string;
  };
  const bundle = await fetch(`${gateway.url}/api/contracts/source?hash=${version.contentHash}&bundled=1`);
  document = objectOf(await bundle.json());
  judge = createJudge(document);
  const accountPart = inJsonSchema(
    objectOf(await (await fetch(`${gateway.url}/openapi/account.json`)).json()),
  );
  accountJudge = createJudge(accountPart);
  accountOperations = new Map(readOperations(accountPart).map((operation) => [operation.id, operation]));
  const paid = await gateway.post(account, "/v1/rerank", { query: "a", documents: ["b"] });
  receiptId = paid.headers.get("x-request-id") ?? "";
});

afterAll(() => gateway.close());

const openAccount = (): Promise<TestAccount> =>
  gateway.openAccount({ tier: "enterprise", creditUsd: "10000" });

const operationOf = (id: string): DeclaredOperation => {
  const found = readOperations(document).find((operation) => operation.id === id);
  if (!found) throw new Error(`The served contract has no ${id}.`);
  return found;
};

const hintsFor = (operation: DeclaredOperation) => ({
  document,
  words: {
    model: operation.models.length > 0 ? operation.models.slice(0, 4) : ["gpt-4o-mini", "gemini-2.5-flash"],
    id: ["gpt-4o-mini"],
    request_id: [receiptId],
    role: ["user", "assistant"],
  },
});

/** A limit of a few a minute would answer everything; whoever comes fresh sees the operation itself. */
const callerOf = (operation: DeclaredOperation): TestAccount | Promise<TestAccount> =>
  operation.requestsPerMinute === undefined ? account : openAccount();

/** What every answer of every server may carry. */
const ofHttp: ReadonlySet<string> = new Set([
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "date",
  "transfer-encoding",
]);

async function send(made: MadeRequest, caller: TestAccount): Promise<Answered> {
  const keys = { own: `Bearer ${caller.key}`, wrong: "Bearer tgk_nobody", none: undefined };
  const authorization = keys[made.key];
  const query = new URLSearchParams(
    made.query.map(([name, value]): [string, string] => [name, value]),
  ).toString();
  const response = await fetch(`${gateway.url}${made.path}${query === "" ? "" : `?${query}`}`, {
    method: made.method,
    headers: { ...made.headers, ...(authorization === undefined ? {} : { authorization }) },
    ...(made.body === undefined ? {} : { body: made.body }),
  });
  const { headers, status } = response;
  expect(headers.get("x-request-id")).not.toBeNull();
  if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  return {
    status,
    headers: [...headers.keys()].filter((name) => !ofHttp.has(name)),
    contentType: headers.get("content-type") ?? "",
    text: await response.text(),
    fromUpstream: headers.has("x-tollgate-upstream"),
  };
}

async function check(
  operation: DeclaredOperation,
  made: MadeRequest,
  caller?: TestAccount,
): Promise<Answered> {
  const answered = await send(made, caller ?? (await callerOf(operation)));
  const inAccountPart = accountOperations.get(operation.id);
  const fault =
    judge.fault(operation, answered) ?? (inAccountPart && accountJudge.fault(inAccountPart, answered));
  // A fault of ours is declared so that callers know its shape, but there must be none.
  const internal = answered.status === 500 && !answered.fromUpstream ? "an internal error" : undefined;
  if (fault ?? internal) throw new Error(`${operation.id}, wrong: ${made.wrong}: ${fault ?? internal}`);
  return answered;
}

describe("no answer outside the contract:", () => {
  test.each(operationIds)(
    "%s",
    async (id) => {
      const operation = operationOf(id);
      const statuses = new Map<number, number>();
      for (const requests of [rightRequests, spoiltRequests]) {
        await fc.assert(
          fc.asyncProperty(requests(operation, hintsFor(operation)), async (made) => {
            const { status } = await check(operation, made);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }),
          { seed, numRuns: runsEach, endOnFailure: true },
        );
      }
      if (process.env["CONTRACT_SEED"] !== undefined) {
        process.stderr.write(`${id}: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
      }
      // Something was really asked, and not everything was the same.
      expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBe(2 * runsEach);
      expect(statuses.size).toBeGreaterThan(1);
    },
    20_000,
  );
});

test("the example of every operation is answered 200, as declared", async () => {
  const without: string[] = [];
  for (const operation of readOperations(document)) {
    const made = exampleRequest(operation);
    if (!made) without.push(...(operation.pending ? [] : [operation.id]));
    else
      expect([operation.id, (await check(operation, made, await openAccount())).status]).toEqual([
        operation.id,
        200,
      ]);
  }
  // These need a call, a link or a task that was there before.
  expect(without.toSorted()).toEqual([
    "requests.get",
    "social_a.follow",
    "social_a.links.revoke",
    "tasks.cancel",
    "tasks.get",
  ]);
}, 20_000);

test("the body of every example has only members that are declared", () => {
  const bodies = readOperations(document).flatMap(({ id, body }) => (body?.example ? [{ id, ...body }] : []));
  expect(bodies.length).toBeGreaterThan(10);
  for (const { id, schema, example } of bodies)
    expect([id, judge.faultIn(schema, example)]).toEqual([id, undefined]);
});

test("an answer in our own shape has only members that are declared, whichever vendor gave it", async () => {
  for (const id of ["research.deep_search", "video.synthesis.create"]) {
    const operation = operationOf(id);
    const made = exampleRequest(operation);
    const schema = operation.responses["200"]?.content["application/json"];
    if (!made || !schema) throw new Error(`${id} has no example.`);
    const { text } = await check(operation, made, await openAccount());
    expect([id, judge.faultIn(schema, JSON.parse(text))]).toEqual([id, undefined]);
  }
});

test("the bounds that are declared are the ones that are kept", async () => {
  const listing = operationOf("requests.list");
  const plain = {
    method: "GET",
    path: listing.path,
    headers: {},
    body: undefined,
    key: "own",
    wrong: "",
  } as const;
  const counted = listing.parameters.filter(({ schema }) => schema["type"] === "integer");
  expect(counted.map(({ name }) => name)).toEqual(["limit", "start_time", "end_time"]);
  for (const { name, schema } of counted) {
    for (const [value, expected] of [
      [Number(schema["minimum"]) - 1, 400],
      [Number(schema["minimum"]), 200],
      [Number(schema["maximum"]), 200],
      [Number(schema["maximum"]) + 1, 400],
    ] as const) {
      const { status } = await check(listing, { ...plain, query: [[name, String(value)]] });
      expect([name, value, status]).toEqual([name, value, expected]);
    }
  }

  for (const [id, member, value] of [
    ["video.synthesis.create", "parameters", { duration: -2 }],
    ["social_a.link.start", "scopes", ["tweet.read", "tweet.read"]],
  ] as const) {
    const operation = operationOf(id);
    const made = exampleRequest(operation);
    const body = { ...operation.body?.example, [member]: value };
    if (!made || !operation.body) throw new Error(`${id} has no example.`);
    expect([id, (await check(operation, { ...made, body: JSON.stringify(body) })).status]).toEqual([id, 400]);
    expect([id, judge.faultIn(operation.body.schema, body)]).not.toEqual([id, undefined]);
  }
});

test("a quote and a receipt are answered as declared", async () => {
  for (const id of ["rerank.create", "social_a.tweet.quotes", "research.deep_search"]) {
    const made = exampleRequest(operationOf(id));
    if (!made) throw new Error(`${id} has no example.`);
    const quote = { ...made, headers: { ...made.headers, "X-Tollgate-Cost-Mode": "quote" } };
    expect(JSON.parse((await check(operationOf(id), quote)).text)).toMatchObject({ object: "cost_estimate" });
  }
  const receipts = operationOf("requests.get");
  const path = receipts.path.replace("{request_id}", receiptId);
  const receipt = {
    method: "GET",
    path,
    query: [],
    headers: {},
    body: undefined,
    key: "own",
    wrong: "",
  } as const;
  expect((await check(receipts, receipt)).status).toBe(200);
});

test("what the account is told is as declared with every null in it, and without", async () => {
  const plain = { query: [], headers: {}, body: undefined, key: "own", wrong: "" } as const;
  const ask = async (id: string, caller: TestAccount): Promise<Json> => {
    const operation = operationOf(id);
    const { text } = await check(operation, { ...plain, method: "GET", path: operation.path }, caller);
    return objectOf(JSON.parse(text));
  };
  const limited = await gateway.openAccount({
    budget: { window: "day", limitMicros: 1_000_000n },
    allowedModels: ["gpt-4o-mini"],
  });
  const unlimited = await openAccount();
  for (const id of ["credits.balance", "limits.get"]) {
    expect([id, (await ask(id, limited))["budget"]]).not.toEqual([id, null]);
    expect([id, (await ask(id, unlimited))["budget"]]).toEqual([id, null]);
  }
  await gateway.sandbox.fault({ vendor: "jina", mode: "slow_body", latency_ms: 300, times: 1 });
  const underWay = gateway.post(unlimited, "/v1/rerank", { query: "a", documents: ["b"] });
  await until(async () => listOf((await ask("requests.list", unlimited))["data"]).length === 1);
  const outcome = async (): Promise<unknown> =>
    objectOf(listOf((await ask("requests.list", unlimited))["data"])[0])["outcome"];
  expect(await outcome()).toBeNull();
  await (await underWay).text();
  expect(await outcome()).toBe("succeeded");
});

describe("the headers are declared", () => {
  /** A vendor that says so speaks of what the caller wrote, also with a 403: that is passed on, too. */
  const aboutContent = JSON.stringify({ error: { code: "content_policy_violation", message: "No." } });
  const exampleOf = (id: string): MadeRequest => {
    const made = exampleRequest(operationOf(id));
    if (!made) throw new Error(`${id} has no example.`);
    return made;
  };
  /** What is declared, and was really said. */
  const saidBy = async (id: string, made: MadeRequest, caller?: TestAccount): Promise<Answered> =>
    check(operationOf(id), made, caller);

  test("of answers about a task", async () => {
    const caller = await openAccount();
    const creation = exampleOf("video.synthesis.create");
    const { text } = await saidBy("video.synthesis.create", creation, caller);
    const { output } = JSON.parse(text) as { output: { task_id: string } };
    for (const id of ["tasks.get", "tasks.cancel"]) {
      const { method, path: template } = operationOf(id);
      const path = template.replace("{task_id}", output.task_id);
      const made = { method, path, query: [], headers: {}, body: undefined, key: "own", wrong: "" } as const;
      const { status, headers } = await saidBy(id, made, caller);
      expect([id, status, headers.includes("x-tollgate-upstream")]).toEqual([id, 200, true]);
    }
  });

  test("of a vendor's error that is passed on, in every dialect", async () => {
    for (const [id, vendor] of [
      ["chat.completions.create", "openai"],
      ["messages.create", "anthropic"],
      ["models.generate_content", "gemini"],
      ["messages.count_tokens", "anthropic"],
      ["rerank.create", "jina"],
      ["financial.metrics.snapshot", "financialdatasets"],
    ] as const) {
      for (const vendorSays of [400, 403, 408, 418, 500, 504]) {
        await gateway.sandbox.fault({ vendor, status: vendorSays, body: aboutContent, times: 1 });
        const { status, headers } = await saidBy(id, exampleOf(id), await openAccount());
        const isFree = id.endsWith("count_tokens");
        expect([id, status, headers.includes("x-tollgate-upstream")]).toEqual([id, vendorSays, true]);
        expect([id, headers.includes("x-tollgate-cost-micros-usd")]).toEqual([id, !isFree]);
        expect([id, headers.includes("x-should-retry")]).toEqual([id, [408, 504].includes(vendorSays)]);
      }
      await gateway.sandbox.clear();
    }
  });

  test("of a busy vendor, of one that does not answer, of what cannot be paid and of what is repeated", async () => {
    const poor = await gateway.openAccount({ tier: "enterprise", creditUsd: "0" });
    for (const [id, vendor] of [
      ["chat.completions.create", "openai"],
      ["messages.create", "anthropic"],
      ["rerank.create", "jina"],
      ["research.deep_search", "perplexity"],
    ] as const) {
      const made = exampleOf(id);
      for (const [fault, expected] of [
        [{ status: 429 }, 429],
        [{ status: 401 }, 503],
        [{ mode: "close" }, 502],
      ] as const) {
        await gateway.sandbox.fault({ ...fault, vendor, body: "{}", times: 9 });
        const { status, headers } = await saidBy(id, made, await openAccount());
        expect([id, status, headers.includes("x-tollgate-upstream")]).toEqual([id, expected, true]);
        await gateway.sandbox.clear();
      }
      const unpaid = await saidBy(id, made, poor);
      expect([id, unpaid.status, unpaid.headers.includes("x-should-retry")]).toEqual([id, 402, true]);
      const once = { ...made, headers: { ...made.headers, "idempotency-key": crypto.randomUUID() } };
      const caller = await openAccount();
      expect((await saidBy(id, once, caller)).status).toBe(200);
      const again = await saidBy(id, once, caller);
      expect([id, again.status, again.headers.includes("x-should-retry")]).toEqual([id, 409, true]);
    }
  });
});

test("what a key may not call is refused as declared, by every operation of a vendor and by no other", async () => {
  const tier = { tier: "enterprise", creditUsd: "10000" } as const;
  const noOperation = await gateway.openAccount({ ...tier, allowedOperations: ["nothing"] });
  const noModel = await gateway.openAccount({ ...tier, allowedModels: ["nothing"] });
  let refused = 0;
  for (const operation of readOperations(document)) {
    const made = exampleRequest(operation);
    const offered = gateway.gateway.offer().operations.get(operation.id);
    // These keys have no models, so there is none to ask for by its name.
    if (!made || !offered || operation.id.startsWith("models.get")) continue;
    const sold = isSold(offered.operation);
    const statusFor = async (caller: TestAccount): Promise<number> =>
      (await check(operation, made, caller)).status;
    expect([operation.id, await statusFor(noOperation)]).toEqual([operation.id, sold ? 403 : 200]);
    expect([operation.id, await statusFor(noModel)]).toEqual([
      operation.id,
      offered.models.size > 0 ? 403 : 200,
    ]);
    if (sold) refused++;
  }
  expect(refused).toBeGreaterThan(15);
}, 20_000);

test("what a refusal tells of budgets, sign-ins, approvals and links is declared", async () => {
  const refusalOf = async (id: string, caller: TestAccount, body?: object): Promise<unknown> => {
    const operation = operationOf(id);
    const made = body ? undefined : exampleRequest(operation);
    const { method, path } = operation;
    const plain = { method, path, query: [], key: "own", wrong: "" } as const;
    const headers = { "content-type": "application/json" };
    const { text } = await check(
      operation,
      made ?? { ...plain, headers, body: JSON.stringify(body) },
      caller,
    );
    return objectOf(JSON.parse(text))["error"];
  };
  const inEveryDialect = [
    "chat.completions.create",
    "messages.create",
    "models.generate_content",
    "rerank.create",
  ];
  const rich = await openAccount();
  const signedIn = async (fields: Readonly<Record<string, string>>): Promise<TestAccount> => ({
    ...rich,
    key: (await signInWith(gateway.url, rich.key, fields)).access_token,
  });
  const poor = await gateway.openAccount({ budget: { window: "day", limitMicros: 0n } });
  const reading = await signedIn({ spend: "" });
  const careful = await signedIn({ per_call_usd: "0" });
  for (const id of inEveryDialect) {
    expect([id, await refusalOf(id, poor)]).toMatchObject([id, { window: "day", spent_micros_usd: 0 }]);
    expect([id, await refusalOf(id, reading)]).toMatchObject([
      id,
      { required_scopes: ["tools:read", "tools:spend"] },
    ]);
    expect([id, await refusalOf(id, careful)]).toMatchObject([
      id,
      { retryable: false, covered_micros_usd: 0 },
    ]);
  }
  await linkInSandbox(gateway, rich, ["tweet.read", "users.read"]);
  expect(await refusalOf("social_a.follow", rich, { target_user_id: "1801000000000000102" })).toMatchObject({
    missing_scopes: ["follows.write"],
  });
});

test("the judge notices what is not declared", () => {
  const operation = operationOf("rerank.create");
  const answer = {
    status: 200,
    headers: ["x-request-id"],
    contentType: "application/json",
    text: "{}",
    fromUpstream: true,
  };
  expect(judge.fault(operation, { ...answer, headers: ["x-request-id", "x-other"] })).toBe(
    "the headers x-other are not declared for 200",
  );
  expect(judge.fault(operation, answer)).toContain("not as declared");
  expect(judge.fault(operation, { ...answer, status: 418, fromUpstream: false })).toContain("418");
  expect(judge.fault(operation, { ...answer, status: 400, fromUpstream: false })).toContain(
    "not as declared",
  );
  expect(judge.fault(operation, { ...answer, status: 401, contentType: "text/html" })).toContain("text/html");
  const own = { ...answer, status: 404, fromUpstream: false };
  const refusal = { error: "no", code: "model_not_found", request_id: "r" };
  expect(judge.fault(operation, { ...own, text: JSON.stringify(refusal) })).toBeUndefined();
  expect(judge.fault(operation, { ...own, text: JSON.stringify({ ...refusal, more: 1 }) })).toContain(
    "must NOT have additional properties",
  );
});
