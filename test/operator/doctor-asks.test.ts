// `tollgate doctor --ask`, as an operator types it, in front of vendors that take the key, refuse it, or have other models.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAnthropicDouble } from "../doubles/anthropic.ts";
import { openGeminiDouble } from "../doubles/gemini.ts";
import { headerValues } from "../doubles/http-wire.ts";
import type { ModelDouble } from "../doubles/model-book.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import { hasHeader, queryOf } from "../doubles/vendor-checks.ts";
import { runTollgate, type Ran } from "../support/run-tollgate.ts";

const key = "an-operator-key-of-tests";
const gateToken = "canary-gate-token-9f8e7d6c5b4a";
const price = "price: { input: 1, output: 2 }";

let folder: string;
let openai: ModelDouble;
let claude: ModelDouble;
let gemini: ModelDouble;
let azure: ModelDouble;
let open: ModelDouble;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-doctor-"));
  openai = await openOpenAiDouble({ key, models: ["gpt-x", "gpt-y-2026-01-31"] });
  claude = await openAnthropicDouble({ key, models: ["claude-x-20260131"] });
  gemini = await openGeminiDouble({ key, models: ["gemini-x"] });
  azure = await openOpenAiDouble({
    key,
    admits: (request) =>
      hasHeader(request, { name: "api-key", value: key }) &&
      hasHeader(request, { name: "x-gate-token", value: gateToken }) &&
      queryOf(request).get("api-version") === "2024-10-21",
  });
  open = await openOpenAiDouble({ key, admits: () => true });
});
afterAll(async () => {
  for (const double of [openai, claude, gemini, azure, open]) expect(double.violations).toEqual([]);
  await Promise.all([openai, claude, gemini, azure, open].map((double) => double.close()));
  rmSync(folder, { recursive: true, force: true });
});

const upstream = (name: string, protocol: string, url: string, more: string): string =>
  `  ${name}: { protocol: ${protocol}, url: "${url}", models: [], ${more} }`;

/** Nothing that it prints has a secret in it, whatever it was asked. */
const doctor = async (config: readonly string[], ...words: string[]): Promise<Ran> => {
  writeFileSync(join(folder, "tollgate.yaml"), `sandbox: off\n${config.join("\n")}\n`);
  const ran = await runTollgate(["doctor", ...words], { folder });
  for (const secret of [key, gateToken]) expect(ran.out + ran.errors).not.toContain(secret);
  return ran;
};

describe("tollgate doctor --ask", () => {
  test("says of each vendor whether it takes the key, asked as calls would ask it", async () => {
    const { code, out } = await doctor(
      [
        "upstreams:",
        upstream("openai", "openai", openai.url, `key: ${key}`),
        upstream("claude", "anthropic", claude.url, `key: ${key}, headers: { anthropic-beta: some }`),
        upstream("gemini", "gemini", gemini.url, `key: ${key}, query: { tenant: acme }`),
        upstream(
          "azure",
          "openai",
          azure.url,
          `key: ${key}, key_header: api-key, headers: { X-Gate-Token: ${gateToken} }, query: { api-version: "2024-10-21" }`,
        ),
        upstream("router", "openai", open.url, `key: ${key}`),
        upstream("vllm", "openai", open.url, "weight: 1"),
        upstream("jina", "jina", open.url, `key: ${key}`),
        "models:",
        `  gpt-x: { via: [openai, azure, router, vllm], ${price} }`,
        `  gpt-y: { via: [openai], ${price} }`,
        `  claude-x: { via: [claude], ${price} }`,
        `  claude-x-latest: { via: [claude], ${price} }`,
        `  gemini-x: { via: [gemini], ${price} }`,
        `  ranker: { via: [jina], price: { input: 1 } }`,
      ],
      "--ask",
    );
    for (const line of [
      "openai: key accepted.",
      "claude: key accepted.",
      "gemini: key accepted.",
      "azure: key accepted.",
      "router: lists its models to anybody, so the key was not checked.",
      "vllm: answers without a key.",
      "jina: cannot be checked; protocol jina has no free list of models.",
    ]) {
      expect(out.split("\n")).toContain(line);
    }
    expect([code, out.trimEnd().split("\n").at(-1)]).toEqual([
      0,
      "What could be checked can be used. The lines above say what could not, or may be wrong: router, jina.",
    ]);

    const [asked] = claude.requests.filter(({ target }) => target.startsWith("/v1/models"));
    expect(headerValues(asked?.headers ?? [], "anthropic-beta")).toEqual(["some"]);
    expect(gemini.requests.map(({ target }) => target)).toContain("/v1beta/models?pageSize=1000&tenant=acme");
    // Without the key its other headers are still there; the double lets in nobody who lacks either.
    const targets = azure.requests.map(({ target }) => target);
    expect(targets.filter((target) => target !== "/")).toEqual([
      "/v1/models?api-version=2024-10-21",
      "/v1/models?api-version=2024-10-21",
    ]);
    // Nothing that costs anything was asked for.
    for (const double of [openai, claude, gemini, azure, open]) expect(double.book).toEqual([]);
  });

  test("says that everything can be used where each vendor took the key and has the models", async () => {
    const { code, out } = await doctor(
      [
        "upstreams:",
        upstream("openai", "openai", openai.url, `key: ${key}`),
        `models: { gpt-x: { via: [openai], ${price} } }`,
      ],
      "--ask",
    );
    expect([code, out.trimEnd().split("\n").at(-1)]).toEqual([0, "Everything configured can be used."]);
  });

  test("says which keys are refused, with which status, and fails", async () => {
    const wrong = "a-wrong-key-of-tests";
    const config = (more: string): string[] => [
      "upstreams:",
      upstream("openai", "openai", openai.url, more),
      upstream("claude", "anthropic", claude.url, more),
      upstream("gemini", "gemini", gemini.url, more),
      `models: { gpt-x: { via: [openai], ${price} }, claude-x: { via: [claude], ${price} }, gemini-x: { via: [gemini], ${price} } }`,
    ];
    const refused = await doctor(config(`key: ${wrong}`), "--ask");
    expect(refused.code).toBe(1);
    expect(refused.out).toContain("\nopenai: key refused (401).\n");
    expect(refused.out).toContain("\nclaude: key refused (401).\n");
    // Google says 400 about a key that it does not know.
    expect(refused.out).toContain("\ngemini: key refused (400).\n");
    expect(refused.out).not.toContain(wrong);
    expect(refused.out).toEndWith("Something configured cannot be used.\n");

    const keyless = await doctor(config("weight: 1"), "--ask", "--json");
    expect(keyless.code).toBe(1);
    expect(JSON.parse(keyless.out)).toMatchObject({
      usable: false,
      upstreams: [
        { name: "openai", asked: { verdict: "key_refused", unlisted_models: [] } },
        { name: "claude", asked: { sentence: "refuses to answer without a key (401)." } },
        { name: "gemini", asked: { sentence: "refuses to answer without a key (403)." } },
      ],
    });
  });

  test("names the models that are offered here and not listed there, by the vendor's names, which is no mistake", async () => {
    const { code, out } = await doctor(
      [
        "upstreams:",
        upstream("openai", "openai", openai.url, `key: ${key}`),
        `models: { mine: { via: [{ openai: gpt-x }], ${price} }, theirs: { via: [{ openai: vendor/gpt-z }], ${price} }, gpt-9: { via: [openai], ${price} } }`,
      ],
      "--ask",
    );
    expect(out).toContain(
      "\nopenai: key accepted. Not in its list, though offered here: vendor/gpt-z, gpt-9.\n",
    );
    expect(out).not.toContain("Everything configured");
    expect(out).toEndWith("or may be wrong: openai.\n");
    expect(code).toBe(0);
  });

  test("says what is no list, and what is not there", async () => {
    const config = [
      "upstreams:",
      upstream("azure", "openai", `${openai.url}/deployments/gpt-x`, `key: ${key}`),
      `models: { gpt-x: { via: [azure], ${price} } }`,
    ];
    const missing = await doctor(config, "--ask");
    expect(missing.out).toContain("\nazure: cannot be checked; its list of models is answered with 404.\n");
    expect(missing.code).toBe(0);
    expect(missing.out).not.toContain("Everything configured");
    expect(missing.out).toEndWith("or may be wrong: azure.\n");
    expect(JSON.parse((await doctor(config, "--ask", "--json")).out)).toMatchObject({ uncertain: ["azure"] });
  });

  test("without --ask no vendor is shown the key", async () => {
    const before = openai.requests.length;
    const { code, out } = await doctor([
      "upstreams:",
      upstream("openai", "openai", openai.url, "key: a-wrong-key-of-tests"),
      `models: { gpt-x: { via: [openai], ${price} } }`,
    ]);
    expect([code, out.includes("key")]).toEqual([0, false]);
    const heard = openai.requests.slice(before);
    expect(heard.map(({ method, target }) => [method, target])).toEqual([["GET", "/"]]);
    expect(headerValues(heard[0]?.headers ?? [], "authorization")).toEqual([]);
  });
});
