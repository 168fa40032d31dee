// The examples of a gateway that sells models of its own: whatever shows one, the contract, a page or a tool of
// agents, shows what can be called there as it stands.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exampleRequest as exampleOf } from "./requests.ts";
import { objectOf, readOperations, type Json } from "./contract-reader.ts";
import { useTool } from "../agents/agent-client.ts";
import type { ModelDouble } from "../doubles/model-book.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { projectFolder } from "../support/project-folder.ts";
import { runProgram } from "../support/run-tollgate.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

const vendor = { key: "sk-operator-openai-000000000000", models: ["org/own:8b", "own-embedder"] };

/** An operator's own operation, with an example that cannot stand in a path as it is. */
const pairs = `
  import { defineOperation, fixed, z } from ${JSON.stringify(join(projectFolder, "gateway/src/for-catalogues.ts"))};
  export const pairs = defineOperation({
    id: "own.pairs.get", title: "A pair", summary: "What a pair costs.", category: "data",
    method: "GET", path: "/apis/v1/pairs/{symbol}/price", params: { symbol: "The pair." },
    query: z.looseObject({ ticker: z.string() }),
    price: fixed("0.01"),
    servedBy: { financialdatasets: { exchange: "forward_query", path: "/financial-metrics/snapshot" } },
    example: { params: { symbol: "A/B C?#%" }, query: { ticker: "A&B" } },
  });
`;

let openai: ModelDouble;
let folder: string;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-examples-"));
  writeFileSync(join(folder, "pairs.ts"), pairs);
  openai = await openOpenAiDouble(vendor);
  gateway = await openTestGateway({
    catalogueFolders: [folder],
    config: `
upstreams:
  oai: { protocol: openai, url: "${openai.url}", key: "${vendor.key}", models: [] }
models:
  own-embedder: { via: [oai], price: { input: 0.5 } }
  org/own:8b: { via: [oai], price: { input: 1, output: 2 } }
tiers: { enterprise: { rpm: 100000, tpm: 100000000, concurrency: 1000 } }
`,
  });
  account = await openAccount(gateway);
});
afterAll(async () => {
  await gateway.close();
  await openai.close();
  rmSync(folder, { recursive: true, force: true });
});

const openAccount = (at: TestGateway): Promise<TestAccount> =>
  at.openAccount({ tier: "enterprise", creditUsd: "1000" });

const aboutModels = [
  "chat.completions.create",
  "responses.create",
  "embeddings.create",
  "messages.create",
  "messages.count_tokens",
  "models.generate_content",
  "models.get",
  "models.get_gemini",
];

async function readContract(at: TestGateway): Promise<Json> {
  const { contentHash } = objectOf(await (await fetch(`${at.url}/api/contracts/version`)).json());
  const source = `${at.url}/api/contracts/source?hash=${String(contentHash)}&bundled=1`;
  return objectOf(await (await fetch(source)).json());
}

test("every example in the contract can be sent as it stands", async () => {
  const answers: Record<string, number> = {};
  for (const operation of readOperations(await readContract(gateway))) {
    const made = exampleOf(operation);
    if (!made) continue;
    const query = new URLSearchParams(
      made.query.map(([name, value]): [string, string] => [name, value]),
    ).toString();
    const { status } = await gateway.call(
      await openAccount(gateway),
      made.path + (query === "" ? "" : `?${query}`),
      {
        method: made.method,
        headers: made.headers,
        ...(made.body === undefined ? {} : { body: made.body }),
      },
    );
    answers[operation.id] = status;
  }
  expect(Object.entries(answers).filter(([, status]) => status !== 200)).toEqual([]);
  expect(aboutModels.filter((id) => !(id in answers))).toEqual([]);
});

test("so can every example that agents are told", async () => {
  const refused: string[] = [];
  const told: string[] = [];
  for (const id of gateway.gateway.offer().operations.keys()) {
    const details = await useTool(`${gateway.url}/mcp`, account.key, "get_details", { operation_id: id });
    const { examples = [] } = details.structuredContent as { examples?: readonly object[] };
    for (const example of examples) {
      told.push(id);
      const given = { operation_id: id, arguments: example, max_price_usd: 1 };
      const { status } = (await useTool(`${gateway.url}/mcp`, account.key, "use", given)).structuredContent;
      if (status !== "completed" && status !== "accepted") refused.push(id);
    }
  }
  expect(refused).toEqual([]);
  expect(aboutModels.filter((id) => !told.includes(id))).toEqual([]);
});

test("so can the command on every operation's page", async () => {
  const answers = await pasteAll(gateway, account, [...gateway.gateway.offer().operations.keys()]);
  expect(Object.entries(answers).filter(([, status]) => status !== "200")).toEqual([]);
  expect(answers).toHaveProperty(["own.pairs.get"]);
  const page = await (await fetch(`${gateway.url}/docs/operations/models.generate_content.md`)).text();
  expect(page).toContain("/v1beta/models/org/own:8b:generateContent");
  expect(aboutModels.filter((id) => !(id in answers))).toEqual([]);
});

test("where no model is on offer, no example names one", async () => {
  const bare = await openTestGateway({
    config: `
upstreams:
  oai: { protocol: openai, url: "${openai.url}", key: "${vendor.key}", models: [] }
models:
  unpriced: { via: [oai] }
sandbox: off
`,
  });
  try {
    const found = readOperations(await readContract(bare)).filter(({ id }) => aboutModels.includes(id));
    expect(found.length).toBeGreaterThan(3);
    expect(found.filter((operation) => exampleOf(operation)).map(({ id }) => id)).toEqual([]);
    expect(
      await pasteAll(
        bare,
        await openAccount(bare),
        found.map(({ id }) => id),
      ),
    ).toEqual({});
  } finally {
    await bare.close();
  }
});

/** What the commands of these pages are answered, by operation; those without one are left out. */
async function pasteAll(
  at: TestGateway,
  { key }: TestAccount,
  ids: readonly string[],
): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const id of ids) {
    const page = await (await fetch(`${at.url}/docs/operations/${id}.md`)).text();
    const [, command] = /```sh\n(curl .+?)\n```/s.exec(page) ?? [];
    if (command === undefined) continue;
    const { out } = await runProgram(["sh", "-c", `${command} -s -o /dev/null -w '%{http_code}'`], {
      folder: import.meta.dir,
      environment: { TOLLGATE_KEY: key },
    });
    answers[id] = out;
  }
  return answers;
}
