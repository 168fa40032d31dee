// What official clients of the model dialects find at a path, whether anything is sold there or not: errors in their
// own shape, the header for their key, and the name under which they read a request's id.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { read, type Answered } from "../bad-inputs/error-shapes.ts";
import { rawRequest, sendForOne } from "../bad-inputs/raw-request.ts";
import { projectFolder } from "../support/project-folder.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

type Shape = "openai" | "anthropic" | "gemini" | "plain" | "only a message";

interface Conventions {
  readonly shape: Shape;
  readonly keyHeader?: "x-api-key" | "x-goog-api-key";
  readonly tellsRequestId?: true;
  /** Its 400 is like no other. */
  readonly shapeOf400?: Shape;
}

const plain: Conventions = { shape: "plain" };
const openai: Conventions = { shape: "openai" };
const anthropic: Conventions = { shape: "anthropic", keyHeader: "x-api-key", tellsRequestId: true };
const gemini: Conventions = { shape: "gemini", keyHeader: "x-goog-api-key" };
/** Models are listed in one place for two dialects. */
const models: Conventions = { shape: "openai", tellsRequestId: true };
const usage: Conventions = { shape: "plain", shapeOf400: "only a message" };

const conventions: Readonly<Record<string, Conventions>> = {
  "/v1": plain,
  "/v1/": plain,
  "/v1/nothing": plain,
  "/v1/Messages": plain,
  "/v1/mess%61ges": plain,
  "/v1//messages": plain,
  "/v1/rerank": plain,
  "/v1/usage": usage,
  "/v1/usage/": plain,
  "/v1/usagex": plain,
  "/v1/credits/balance": plain,
  "/v1/limits": plain,
  "/v1/limits/requests": plain,
  "/v1/requests": plain,
  "/v1/requests/x": plain,
  "/v1/requests/x/y": plain,

  "/v1/chat": plain,
  "/v1/chat/nothing": plain,
  "/v1/chat/completions": openai,
  "/v1/chat/completionsx": openai,
  "/v1/chat/completions/x/messages": openai,
  "/v1/responses": openai,
  "/v1/responses/x/cancel": openai,
  "/v1/embeddings": openai,
  "/v1/embeddings/x": openai,
  "/v1/images": plain,
  "/v1/images/": openai,
  "/v1/images/edits": openai,
  "/v1/images/generations": openai,
  "/v1/audio/speech": plain,
  "/v1/completions": plain,
  "/v1/models": models,
  "/v1/models/gpt-4o": models,
  "/v1/models/some/model": models,
  "/v1/modelsx": models,

  "/v1/message": plain,
  "/v1/messages": anthropic,
  "/v1/messagesx": anthropic,
  "/v1/messages/count_tokens": anthropic,
  "/v1/messages/batches": anthropic,

  "/v1beta": plain,
  "/v1beta/": gemini,
  "/v1beta/nothing": gemini,
  "/v1beta/cachedContents": gemini,
  "/v1beta/models": gemini,
  "/v1beta/models/gemini-2.5-flash": gemini,
  "/v1beta/models/gemini-2.5-flash:generateContent": gemini,
  "/v1beta/models/gemini-2.5-flash:countTokens": gemini,
  "/v1beta/models/x:nothing": gemini,

  "/apis/v1": plain,
  "/apis/v1/nothing": plain,
  "/apis/v1/messages": plain,
  "/apis/v1/research/deep-search": plain,
  "/apis/v1/social_a/tweet/quotes": plain,
  "/apis/v1/services/aigc/tasks/x": plain,
};

type Refused = Pick<Answered, "status" | "body">;

describe.each([
  ["where everything is sold", ""],
  ["where no vendor is set up", "sandbox: off"],
])("%s", (_, config) => {
  let gateway: TestGateway;
  let account: TestAccount;

  beforeAll(async () => {
    gateway = await openTestGateway({ config });
    account = await gateway.openAccount({ tier: "enterprise" });
  });
  afterAll(() => gateway.close());

  const raw = async (path: string, line: string, lines: readonly string[]): Promise<Refused> => {
    const bytes = rawRequest({ line: `${line} ${path} HTTP/1.1`, key: account, lines });
    const { status = 0, body } = await sendForOne(gateway.port, bytes);
    return { status, body: JSON.parse(body) as unknown };
  };

  const refusals: Readonly<Record<string, (path: string) => Promise<Refused>>> = {
    "without a key": (path) => read(fetch(gateway.url + path)),
    "with a key that is none": (path) =>
      read(fetch(gateway.url + path, { headers: { authorization: "Bearer nobody" } })),
    "by a method that nothing has": (path) => read(gateway.call(account, path, { method: "DELETE" })),
    "by a method that nobody knows": (path) => raw(path, "BREW", []),
    "with two hosts": (path) => raw(path, "GET", ["Host: second.test"]),
    "with too many headers": (path) => raw(path, "GET", Array<string>(100).fill("x-one: 1")),
    "with a body that is no JSON": (path) => read(gateway.post(account, path, "{")),
    "with a query that nothing takes": (path) => read(gateway.call(account, `${path}?start_time=x&limit=x`)),
  };

  test.each(Object.keys(refusals))("refused in the shape of its path: asked %s", async (how) => {
    const found: Record<string, Shape> = {};
    const expected: Record<string, Shape> = {};
    for (const [path, { shape, shapeOf400 = shape }] of Object.entries(conventions)) {
      const answered = await refusals[how]?.(path);
      // What is not refused says nothing about it.
      if (!answered || answered.status < 400) continue;
      found[path] = shapeIn(answered.body);
      expected[path] = answered.status === 400 ? shapeOf400 : shape;
    }
    expect(Object.keys(found).length).toBeGreaterThan(Object.keys(conventions).length / 2);
    expect(found).toEqual(expected);
  });

  test("a key is taken from the header of the path's own clients, and from no other's", async () => {
    for (const [path, { keyHeader }] of Object.entries(conventions)) {
      for (const header of ["x-api-key", "x-goog-api-key"]) {
        const { status } = await fetch(gateway.url + path, { headers: { [header]: account.key } });
        expect([path, header, status !== 401]).toEqual([path, header, header === keyHeader]);
      }
    }
  });

  test("a request's id is told under Anthropic's name too where its clients ask, and nowhere else", async () => {
    for (const [path, { tellsRequestId = false }] of Object.entries(conventions)) {
      const { headers } = await gateway.call(account, path);
      const told = headers.get("request-id");
      expect([path, told]).toEqual([path, tellsRequestId ? headers.get("x-request-id") : null]);
    }
  });
});

describe("an operation of the operator's own", () => {
  const kit = JSON.stringify(join(projectFolder, "gateway/src/for-catalogues.ts"));
  const operation = (name: string, members: string): string => `
    export const ${name} = defineOperation({
      id: "own.${name}", title: "Own", summary: "One's own.", category: "data", method: "GET",
      query: z.looseObject({ ticker: z.string() }), price: fixed("0.01"), ${members},
      servedBy: { financialdatasets: { exchange: "forward_query", path: "/financial-metrics/snapshot" } },
    });`;
  const definitions = [
    `import { defineOperation, fixed, z } from ${kit};`,
    operation("speech", 'path: "/v1/audio/speech", dialects: ["openai"], dialectsUnder: "/v1/audio/"'),
    operation("voices", 'path: "/v1/audio/voices/{id}", params: { id: "" }, dialects: ["anthropic"]'),
    operation("short", 'path: "/apis/v1/short", shapeOf400: "message_only"'),
    operation("plain", 'path: "/apis/v1/plain"'),
    operation("inFamily", 'path: "/v1beta/weather"'),
  ];
  const own: Readonly<Record<string, Conventions>> = {
    "/v1/audio": plain,
    "/v1/audio/speech": openai,
    "/v1/audio/nothing": openai,
    "/v1/audio/voices": openai,
    "/v1/audio/voices/x": anthropic,
    "/v1/audio/voices/x/y": anthropic,
    "/v1/chat/completions": openai,
    "/apis/v1/short": usage,
    "/apis/v1/short/x": plain,
    "/apis/v1/plain": plain,
    "/v1beta/weather": gemini,
  };
  let gateway: TestGateway;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "tollgate-conventions-"));
    writeFileSync(join(folder, "own.ts"), definitions.join("\n"));
    gateway = await openTestGateway({ catalogueFolders: [folder] });
  });
  afterAll(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("says whose clients call it, and they find everything as they expect it", async () => {
    const account = await gateway.openAccount();
    for (const [path, { shape, keyHeader, tellsRequestId = false, shapeOf400 = shape }] of Object.entries(
      own,
    )) {
      const refused = await read(gateway.call(account, path));
      const expected = refused.status === 400 ? shapeOf400 : shape;
      expect([path, shapeIn(refused.body)]).toEqual([path, expected]);
      const stranger = await fetch(gateway.url + path);
      expect([path, shapeIn(await stranger.json())]).toEqual([path, shape]);
      expect([path, stranger.headers.has("request-id")]).toEqual([path, tellsRequestId]);
      for (const header of ["x-api-key", "x-goog-api-key"]) {
        const { status } = await fetch(gateway.url + path, { headers: { [header]: account.key } });
        expect([path, header, status !== 401]).toEqual([path, header, header === keyHeader]);
      }
    }
  });

  test("is described so in the contract", async () => {
    const version = await fetch(`${gateway.url}/api/contracts/version`);
    const { contentHash } = (await version.json()) as { contentHash: string };
    const source = async (id: string): Promise<string> =>
      (await fetch(`${gateway.url}/api/contracts/source?hash=${contentHash}&operation_id=${id}`)).text();
    expect(await source("own.speech")).toContain('"OpenAI401');
    expect(await source("own.voices")).toContain('"x-api-key": []');
    expect(await source("own.short")).toContain('"PlainUsage400');
    expect(await source("own.plain")).not.toContain('"PlainUsage400');
  });
});

function shapeIn(body: unknown): Shape {
  const members = body as Readonly<Record<string, unknown>>;
  if (members["type"] === "error") return "anthropic";
  const { error } = members;
  if (typeof error === "string") return Object.keys(members).length === 1 ? "only a message" : "plain";
  const inError = error as Readonly<Record<string, unknown>>;
  if ("param" in inError) return "openai";
  return typeof inError["code"] === "number" ? "gemini" : "plain";
}
