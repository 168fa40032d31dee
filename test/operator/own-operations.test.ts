// Operations that an operator added, at a gateway whose paths and headers have other words: the command line and the
// client learn from its contract how to call them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFolder } from "../support/project-folder.ts";
import { runProgram, runTollgate } from "../support/run-tollgate.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let account: TestAccount;
let folder: string;

const define = JSON.stringify(join(projectFolder, "gateway/src/for-catalogues.ts"));
const operations = `
  import { defineOperation, fixed, z } from ${define};
  export const figures = defineOperation({
    id: "company.figures", title: "Figures", summary: "A company's figures */ as they are.", category: "data",
    method: "GET", path: "/apis/v1/companies/{country}/figures", params: { country: "Where it is." },
    query: z.looseObject({ ticker: z.string().min(1).describe("Its symbol.") }),
    response: z.looseObject({ snapshot: z.looseObject({}) }).meta({ id: "company-figures" }),
    price: fixed("0.02"),
    servedBy: { financialdatasets: { exchange: "forward_query", path: "/financial-metrics/snapshot" } },
  });
  export const search = defineOperation({
    id: "news.search", title: "News", summary: "Finds news.", category: "data",
    method: "POST", path: "/apis/v1/news/search",
    query: z.object({ language: z.enum(["en", "no"]) }),
    body: z.strictObject({ query: z.string(), max_results: z.int().optional() }),
    price: fixed("0.03"),
    servedBy: { tavily: { exchange: "research", path: "/search" } },
  });
`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-own-"));
  const catalogue = mkdtempSync(join(folder, "catalogue-"));
  writeFileSync(join(catalogue, "mine.ts"), operations);
  gateway = await openTestGateway({
    catalogueFolders: [catalogue],
    config: "names: { social_a: chirp, provider: Acme }",
  });
  account = await gateway.openAccount();
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({ TOLLGATE_KEY: account.key, TOLLGATE_BASE_URL: gateway.url });
const tollgate = (...words: string[]) => runTollgate(words, { folder, environment: environment() });
const run = (command: readonly string[], at: string) =>
  runProgram(command, { folder: at, environment: environment() });
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

const figures = ["company.figures", "--arg", "country=no", "--arg", "ticker=EQNR"];
const search = ["news.search", "--arg", "language=en", "--arg", "query=tea", "--json-arg", "max_results=2"];

describe("on the command line, an operation of the operator's own", () => {
  test("is called with its arguments in path, query and body, and paid", async () => {
    const before = await gateway.balance(account);
    const found = await tollgate("call", ...figures);
    expect(found).toMatchObject({ code: 0, errors: "" });
    expect(found.out).toContain('"snapshot"');
    expect(found.out).toMatch(/^charged +0\.02 USD$/m);
    const { errors, out } = await tollgate("call", ...search, "--idempotency-key", "once", "--json");
    expect(errors).toBe("");
    const searched = json(out);
    expect(searched).toMatchObject({ status: 200, idempotency_key: "once", charged_micros_usd: 30_000 });
    const after = await gateway.balance(account);
    expect(before.balance - after.balance).toBe(50_000);
    const again = await tollgate("call", ...search, "--idempotency-key", "once", "--json");
    expect(json(again.errors)).toMatchObject({ code: "request_already_completed", status: 409 });
    expect(await gateway.balance(account)).toEqual(after);
  });

  test("is quoted, and refused above its cap, in the words of this gateway's headers", async () => {
    const before = await gateway.balance(account);
    const quoted = await tollgate("quote", ...search, "--json");
    expect(json(quoted.out)).toMatchObject({ operation_id: "news.search", max_cost_micros_usd: 30_000 });
    const capped = await tollgate("call", ...figures, "--max-price-usd", "0.01", "--json");
    expect(json(capped.errors)).toMatchObject({ status: 402, money_moved: "no" });
    expect(await gateway.balance(account)).toEqual(before);
  });

  test("is told when its arguments are wrong by the gateway, in a refusal that costs nothing", async () => {
    const wrong = await tollgate("call", "news.search", "--arg", "language=de", "--json");
    expect(json(wrong.errors)).toMatchObject({ status: 400, money_moved: "no" });
    expect(wrong.errors).toMatch(/language: /i);
  });

  test("is proposed to whoever asks for one that there is not", async () => {
    const { code, errors } = await tollgate("call", "company.finances");
    expect([code, errors.trim()]).toEqual([
      2,
      'There is no operation "company.finances". There are: company.figures.',
    ]);
  });
});

test("on the command line, what the operator renamed is found by its id, and asked for in the new words", async () => {
  const { code, out } = await tollgate("call", "social_a.tweet.quotes", "--arg", "tweetId=1");
  expect(code).toBe(0);
  expect(out).toContain('"tweets"');
  const video = [
    "video.synthesis.create",
    "--arg",
    "model=wan2.6-t2v",
    "--json-arg",
    'input={"prompt":"a fox"}',
  ];
  expect(await tollgate("quote", ...video)).toMatchObject({ code: 0, errors: "" });
});

const program = `
import { createClient, isTollgateError, type Client } from "tollgate-client";
import { names, operations, type company_figures } from "./gateway.ts";

const client: Client<typeof operations> = createClient({
  apiKey: process.env["TOLLGATE_KEY"], baseUrl: process.env["TOLLGATE_BASE_URL"], names, operations,
});
const figures = await client.call("company.figures", { country: "no", ticker: "EQNR", further: "forwarded" });
const found: company_figures = figures.data;
const snapshot = Object.keys(found.snapshot).length > 0;
const searched = await client.call("news.search", { language: "en", query: "tea" });
const quote = await client.quote("news.search", { language: "no", query: "tea" });
const refused = await client
  .call("news.search", { language: "en", query: "tea" }, { maxPriceUsd: "0.001" })
  .catch((error: unknown) => error);
const link = await client.startLink();
const receipt = searched.requestId && (await client.receipt(searched.requestId)).charged_micros_usd;

// @ts-expect-error There is no such operation.
const _noSuch = () => client.call("company.finances", {});
// @ts-expect-error The country is missing.
const _noCountry = () => client.call("company.figures", { ticker: "A" });
// @ts-expect-error Nobody speaks it.
const _noLanguage = () => client.call("news.search", { language: "de", query: "tea" });
// @ts-expect-error Its body takes nothing else.
const _noMore = () => client.call("news.search", { language: "en", query: "tea", top: 1 });

console.log(JSON.stringify({
  snapshot, charged: figures.chargedMicrosUsd, searchedFor: searched.chargedMicrosUsd, receipt,
  keyed: [figures.idempotencyKey !== undefined, searched.idempotencyKey !== undefined],
  quoted: quote.max_cost_micros_usd, moneyMoved: isTollgateError(refused) && refused.moneyMoved, link: link.state.length > 0,
}));
`;

test("a table written from the gateway's contract gives the client its operations, with types", async () => {
  const project = mkdtempSync(join(folder, "project-"));
  const written = await tollgate(
    "contract",
    "--client",
    "--from",
    gateway.url,
    "--out",
    join(project, "gateway.ts"),
  );
  expect(written).toMatchObject({ code: 0, errors: "" });
  writeFileSync(join(project, "program.ts"), program);
  const settings = {
    extends: join(projectFolder, "tsconfig.json"),
    compilerOptions: {
      paths: { "tollgate-client": [join(projectFolder, "client/src/index.ts")] },
      typeRoots: [join(projectFolder, "node_modules/@types")],
    },
    include: ["*.ts"],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(settings));
  const compiler = join(projectFolder, "node_modules/typescript/bin/tsc");
  const compiled = await run([Bun.which("node") ?? "node", compiler, "--noEmit", "-p", project], project);
  expect(compiled).toEqual({ code: 0, out: "", errors: "" });

  const before = await gateway.balance(account);
  const { out, errors } = await run([process.execPath, "program.ts"], project);
  expect(errors).toBe("");
  expect(json(out)).toEqual({
    snapshot: true,
    charged: 20_000,
    searchedFor: 30_000,
    receipt: 30_000,
    keyed: [false, true],
    quoted: 30_000,
    moneyMoved: "no",
    link: true,
  });
  expect(before.balance - (await gateway.balance(account)).balance).toBe(50_000);
});

test("a contract is read from an address only with the bytes that its hash names", async () => {
  const file = join(folder, "openapi.json");
  const read = await tollgate("contract", "--from", gateway.url, "--out", file, "--json");
  expect(json(read.out)["contentHash"]).toBe(
    new Bun.CryptoHasher("sha256").update(readFileSync(file)).digest("hex"),
  );
  const hash = "0".repeat(64);
  const liar = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      Response.json(url.includes("version") ? { contentHash: hash, docsRevision: "r" } : {}),
  });
  const nobody = Bun.serve({ port: 0, fetch: () => new Response("<html>") });
  try {
    const lied = await tollgate("contract", "--client", "--from", `http://127.0.0.1:${liar.port}`);
    expect([lied.code, lied.out]).toEqual([1, ""]);
    expect(lied.errors).toContain("does not have the hash it says");
    const none = await tollgate("contract", "--from", `http://127.0.0.1:${nobody.port}`);
    expect(none.code).toBe(1);
    expect(none.errors).toContain("tells no contract");
    expect((await tollgate("contract", "--from", "nowhere")).code).toBe(1);
  } finally {
    await Promise.all([liar.stop(true), nobody.stop(true)]);
  }
});
