import { afterAll, describe, expect, test } from "bun:test";
import { json, openModelGateway, type OpenAiError } from "./model-gateway.ts";

const { gateway, gemini, close } = await openModelGateway();
afterAll(close);

describe("the lists of models", () => {
  test("give one model by its name, and say in OpenAI's shape that there is none", async () => {
    const account = await gateway.openAccount();
    const { data } = await json<{ data: { id: string; kind: string }[] }>(
      gateway.call(account, "/v1/models"),
    );
    const found = await gateway.call(account, "/v1/models/gpt-4o");
    expect([found.status, await json<unknown>(found)]).toEqual([200, data.find(({ id }) => id === "gpt-4o")]);
    expect(data.find(({ id }) => id === "gpt-image-1")?.kind).toBe("image");
    expect(data.find(({ id }) => id === "own-embedder")?.kind).toBe("embedding");
    const none = await gateway.call(account, "/v1/models/gpt-nobody");
    expect([none.status, (await json<OpenAiError>(none)).error]).toMatchObject([
      404,
      { code: "model_not_found", type: "not_found_error", param: "model" },
    ]);
  });

  test("name nothing that cannot be called by its name in a path, whatever is in it and however it is escaped", async () => {
    const account = await gateway.openAccount();
    const body = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
    const statusOf = async (path: string): Promise<number> =>
      (await gateway.post(account, path, body)).status;
    for (const name of [
      "org/model-x",
      "org%2Fmodel-x",
      "org%2fmodel-x",
      "llama:8b",
      "llama%3A8b",
      "org/model-g",
      "org%2Fmodel-g",
    ]) {
      for (const verb of ["generateContent", "streamGenerateContent", "countTokens"]) {
        expect([name, verb, await statusOf(`/v1beta/models/${name}:${verb}`)]).toEqual([name, verb, 200]);
      }
    }
    // A name leaves as one segment again.
    expect(gemini.requests.at(-1)?.target).toBe("/v1beta/models/org%2Fmodel-g:countTokens");
    for (const name of ["org/model-x", "org%2Fmodel-x", "org%2fmodel-x", "llama:8b", "llama%3a8b"]) {
      const found = await gateway.call(account, `/v1/models/${name}`);
      const { id } = await json<{ id: string }>(found);
      expect([name, found.status, id]).toEqual([name, 200, decodeURIComponent(name)]);
      const gemini = await gateway.call(account, `/v1beta/models/${name}`);
      const { name: full } = await json<{ name: string }>(gemini);
      expect([name, gemini.status, full]).toEqual([name, 200, `models/${decodeURIComponent(name)}`]);
    }

    const asked = gemini.requests.length;
    for (const name of ["%", "org%2", "%ff", "org%2Fmodel-g%00", "..%2Fmodels%2Forg%2Fmodel-g"]) {
      expect([name, await statusOf(`/v1beta/models/${name}:generateContent`)]).toEqual([name, 404]);
      expect([name, (await gateway.call(account, `/v1/models/${name}`)).status]).toEqual([name, 404]);
    }
    // Decoded once, so what was escaped twice is another name.
    expect(await statusOf("/v1beta/models/org%252Fmodel-g:generateContent")).toBe(404);
    expect(gemini.requests).toHaveLength(asked);
  });

  test("in Gemini's shape hold what can be called in that dialect", async () => {
    const account = await gateway.openAccount();
    const { models } = await json<{ models: readonly Record<string, unknown>[] }>(
      gateway.call(account, "/v1beta/models?pageSize=50"),
    );
    expect(models.find((model) => model["name"] === "models/gpt-4o")).toEqual({
      name: "models/gpt-4o",
      displayName: "gpt-4o",
      inputTokenLimit: 128_000,
      outputTokenLimit: 16_384,
      supportedGenerationMethods: ["generateContent", "countTokens"],
    });
    expect(models.some((model) => model["name"] === "models/gpt-image-1")).toBe(false);
  });
});
