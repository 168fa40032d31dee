// Every dialect a caller may speak, in front of every vendor: the same conversation means the same to the vendor,
// the same answer reaches the caller, and the same money moves.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Asked } from "./doubles/asked.ts";
import type { ScriptedReply } from "./doubles/model-reply.ts";
import type { ScriptedUsage } from "./doubles/token-usage.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";
import {
  budgetTokens,
  dialectNames,
  dialects,
  type DialectName,
  type Heard,
  type Talk,
} from "./streams/dialects.ts";
import {
  expectChargeOf,
  lastInBook,
  lastReceipt,
  models,
  openModelVendors,
  usageInBook,
  type ModelVendors,
} from "./streams/model-vendors.ts";

let vendors: ModelVendors;
let gateway: TestGateway;

beforeAll(async () => {
  vendors = await openModelVendors();
  gateway = await openTestGateway({ config: vendors.config({ more: "sandbox: off" }) });
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  for (const double of Object.values(vendors.doubles)) expect(double.violations).toEqual([]);
  await gateway.close();
  await vendors.close();
});

interface Way {
  readonly spoken: DialectName;
  readonly vendor: DialectName;
  readonly stream: boolean;
}

const ways: readonly Way[] = dialectNames.flatMap((spoken) =>
  dialectNames.flatMap((vendor) => [false, true].map((stream) => ({ spoken, vendor, stream }))),
);

const nameOf = ({ spoken, vendor, stream }: Way): string =>
  `${spoken} callers of ${vendor}, ${stream ? "streamed" : "whole"}`;

const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
const schema = {
  type: "object",
  properties: { answer: { type: "string" } },
  required: ["answer"],
  additionalProperties: false,
};
const lookUp = (id: string, city: string) => ({ id, name: "look_up", arguments: { city } });

interface Case {
  readonly talk: Talk;
  readonly reply: ScriptedReply;
  readonly usage?: ScriptedUsage;
  readonly heard: Partial<Heard>;
  readonly asked: Partial<Asked>;
}

const userTurn = (text: string, rest: Partial<Asked["turns"][number]> = {}): Asked["turns"][number] => ({
  role: "user",
  text,
  images: [],
  toolCalls: [],
  toolResults: [],
  ...rest,
});

const cases: Readonly<Record<string, Case>> = {
  "text comes through, and what it cost": {
    talk: { turns: [{ user: "Say it — naïvely 🦊." }], temperature: 0.5 },
    reply: { text: "The quick brown fox — naïve 🦊 — jumps." },
    usage: { input: 40, cacheRead: 7, output: 12 },
    heard: { text: "The quick brown fox — naïve 🦊 — jumps.", calls: [], stop: "end" },
    asked: { turns: [userTurn("Say it — naïvely 🦊.")], temperature: 0.5, tools: [], outputSchema: null },
  },
  "a system prompt stays one": {
    talk: { system: "Be brief.", turns: [{ user: "Hello." }] },
    reply: { text: "Hi." },
    heard: { text: "Hi.", stop: "end" },
    asked: { system: "Be brief.", turns: [userTurn("Hello.")] },
  },
  "a tool is offered and called": {
    talk: { turns: [{ user: "Look up Rome." }], tools: ["look_up", "give_up"], toolChoice: "auto" },
    reply: {
      toolCalls: [{ id: "call_1", name: "look_up", arguments: '{"city":"Rome","deep":[1,{"a":"é"}]}' }],
    },
    heard: {
      text: "",
      calls: [{ name: "look_up", arguments: { city: "Rome", deep: [1, { a: "é" }] } }],
      stop: "tool_calls",
    },
    asked: { tools: ["look_up", "give_up"], toolChoice: "auto" },
  },
  "parallel calls arrive apart, after the text before them": {
    talk: { turns: [{ user: "Look up both." }], tools: ["look_up"], toolChoice: "required" },
    reply: {
      text: "Looking.",
      toolCalls: [
        { id: "call_1", name: "look_up", arguments: '{"city":"Rome"}' },
        { id: "call_2", name: "look_up", arguments: '{"city":"Oslo"}' },
      ],
    },
    heard: {
      text: "Looking.",
      calls: [
        { name: "look_up", arguments: { city: "Rome" } },
        { name: "look_up", arguments: { city: "Oslo" } },
      ],
      stop: "tool_calls",
    },
    asked: { toolChoice: "required" },
  },
  "one tool can be asked for by name": {
    talk: { turns: [{ user: "Go." }], tools: ["look_up", "give_up"], toolChoice: { name: "give_up" } },
    reply: { toolCalls: [{ id: "call_9", name: "give_up", arguments: '{"city":""}' }] },
    heard: { calls: [{ name: "give_up", arguments: { city: "" } }], stop: "tool_calls" },
    asked: { toolChoice: { name: "give_up" } },
  },
  "what tools answered earlier is in the history, each beside its call": {
    talk: {
      turns: [
        { user: "Look up both." },
        { calls: [lookUp("call_1", "Rome"), lookUp("call_2", "Oslo")] },
        {
          results: [
            { ...lookUp("call_1", "Rome"), result: "sunny" },
            { ...lookUp("call_2", "Oslo"), result: "snow" },
          ],
        },
      ],
      tools: ["look_up"],
    },
    reply: { text: "Sunny and snow." },
    heard: { text: "Sunny and snow.", stop: "end" },
    asked: {
      turns: [
        userTurn("Look up both."),
        userTurn("", {
          role: "assistant",
          toolCalls: [
            { id: null, name: "look_up", arguments: { city: "Rome" } },
            { id: null, name: "look_up", arguments: { city: "Oslo" } },
          ],
        }),
        userTurn("", {
          toolResults: [
            { id: null, name: "look_up", text: "sunny", isError: false },
            { id: null, name: "look_up", text: "snow", isError: false },
          ],
        }),
      ],
    },
  },
  "an image is seen": {
    talk: { turns: [{ user: "What is it?", image: png }] },
    reply: { text: "A fox." },
    heard: { text: "A fox." },
    asked: { turns: [userTurn("What is it?", { images: [png] })] },
  },
  "an answer is held to a JSON schema": {
    talk: { turns: [{ user: "Answer." }], schema },
    reply: { text: '{"answer":"yes"}' },
    heard: { text: '{"answer":"yes"}', stop: "end" },
    asked: { outputSchema: schema },
  },
  "a limit of the output is told, and that it was reached": {
    talk: { turns: [{ user: "Count." }], maxTokens: 3 },
    reply: { text: "one two three four five" },
    heard: { text: "one two three", stop: "length" },
    asked: { maxOutputTokens: 3 },
  },
  "a stop sequence is told, and ends the answer": {
    talk: { turns: [{ user: "Count." }], stop: ["four"] },
    reply: { text: "one two three four five" },
    heard: { text: "one two three ", stop: "end" },
    asked: { stop: ["four"] },
  },
  "a filtered answer says that it was filtered": {
    talk: { turns: [{ user: "Say something bad." }] },
    reply: { text: "I will", stop: "filtered" },
    heard: { text: "I will", stop: "filtered" },
    asked: {},
  },
};

/** Ids are the dialect's own affair as long as each answer finds its call; that is checked by the vendor. */
const withoutIds = (asked: Asked): Asked => ({
  ...asked,
  turns: asked.turns.map((turn) => ({
    ...turn,
    toolCalls: turn.toolCalls.map((call) => ({ ...call, id: null })),
    toolResults: turn.toolResults.map((result) => ({ ...result, id: null })),
  })),
});

async function ask(account: TestAccount, { spoken, vendor, stream }: Way, talk: Talk): Promise<Response> {
  const dialect = dialects[spoken];
  const model = models[vendor];
  return gateway.post(account, dialect.path(model, stream), dialect.body(talk, model, stream));
}

async function hear(response: Response, { spoken, stream }: Way): Promise<Heard> {
  if (!stream) return dialects[spoken].hear((await response.json()) as Record<string, unknown>);
  const frames = (await response.text()).split("\n\n").filter((frame) => frame !== "");
  return dialects[spoken].hearStream(frames);
}

interface Told {
  readonly heard: Heard;
  readonly asked: Asked;
}

/** One conversation from end to end, with all three books compared. */
async function converse(
  way: Way,
  { talk, reply, usage }: Pick<Case, "talk" | "reply" | "usage">,
): Promise<Told> {
  vendors.script.reply = reply;
  vendors.script.usage = usage;
  const account = await gateway.openAccount();
  const response = await ask(account, way, talk);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const heard = await hear(response, way);
  const double = vendors.doubles[way.vendor];
  const asked = double.asked.at(-1);
  if (!asked) throw new Error("The vendor was asked nothing.");

  const book = usageInBook(lastInBook(double));
  expect(heard.usage).toEqual({
    input: Number(book["input_tokens"]),
    output: Number(book["output_tokens"]),
    cacheRead: Number(book["cache_read_tokens"] ?? 0),
  });
  const receipt = await lastReceipt(gateway, account);
  expect(receipt).toMatchObject({ status: "settled", outcome: "succeeded", usage_source: "provider" });
  expectChargeOf(receipt, book);
  expect((await gateway.balance(account)).held).toBe(0);
  return { heard, asked };
}

for (const [promise, { heard: wanted, asked: meant, ...conversation }] of Object.entries(cases)) {
  describe(promise, () => {
    test.each(ways.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
      const { heard, asked } = await converse(way, conversation);
      expect(heard).toMatchObject({ ...wanted, error: undefined });
      expect(withoutIds(asked)).toMatchObject({ model: models[way.vendor], stream: way.stream, ...meant });
    });
  });
}

describe("thinking is asked for in the vendor's measure, paid for, and shown where the vendor shows it", () => {
  test.each(ways.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
    const { heard, asked } = await converse(way, {
      talk: { turns: [{ user: "Think." }], thinks: true, maxTokens: 4000 },
      reply: { text: "Done.", reasoning: "First I count." },
    });
    expect(heard).toMatchObject({ text: "Done.", stop: "end" });
    expect(heard.reasoning).toBe(way.vendor === "openai" ? "" : "First I count.");
    expect(asked.reasoning).toEqual(way.vendor === "openai" ? { effort: "low" } : { budgetTokens });
  });
});

const errorBodies: Readonly<Record<DialectName, (message: string) => object>> = {
  openai: (message) => ({ error: { message, type: "invalid_request_error", param: null, code: null } }),
  anthropic: (message) => ({
    type: "error",
    error: { type: "invalid_request_error", message },
    request_id: "r",
  }),
  gemini: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
};

describe("a vendor's refusal is told in the caller's dialect with its status, and costs nothing", () => {
  test.each(ways.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
    const account = await gateway.openAccount();
    const { spoken, vendor } = way;
    for (const status of [400, 500, 503]) {
      vendors.doubles[vendor].answerNext({
        status,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(errorBodies[vendor]("that prompt is odd")),
      });
      const response = await ask(account, way, { turns: [{ user: "Hello." }] });
      expect(response.status).toBe(status);
      const body = (await response.json()) as { error: Record<string, unknown> };
      expect(body).toMatchObject(spoken === "anthropic" ? { type: "error" } : {});
      expect(body.error[spoken === "gemini" ? "status" : "type"]).toBeString();
      expect(body.error["message"]).toBe("that prompt is odd");
      expect(await lastReceipt(gateway, account)).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
    }
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });
});

describe("a refusal in another common shape keeps its reason", () => {
  const shapes: readonly (readonly [string, unknown, string])[] = [
    [
      "a list of one",
      [{ error: { code: 400, message: "too long", status: "INVALID_ARGUMENT" } }],
      "too long",
    ],
    ["a detail", { detail: "too long" }, "too long"],
    [
      "details of what is wrong",
      {
        detail: [
          { loc: ["body", "seed"], msg: "not a number", type: "int_parsing" },
          { loc: ["body", "stop"], msg: "not a list", type: "list_type" },
        ],
      },
      "not a number; not a list",
    ],
    ["an object without a sentence", { detail: { code: 7 } }, "the provider refused the request"],
    ["an empty list", [], "the provider refused the request"],
  ];
  test.each(shapes)("%s", async (_, body, message) => {
    const account = await gateway.openAccount();
    for (const way of ways.filter(({ spoken, vendor }) => spoken !== vendor)) {
      const headers = { "Content-Type": "application/json" };
      vendors.doubles[way.vendor].answerNext({ status: 400, headers, body: JSON.stringify(body) });
      const response = await ask(account, way, { turns: [{ user: "Hello." }] });
      expect([response.status, await response.json()]).toMatchObject([400, { error: { message } }]);
    }
  });
});

describe("a vendor's words about the operator's own account are withheld, and cost nothing", () => {
  const balance =
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.";
  const keyInvalid = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" };
  const notValid = "API key not valid. Please pass a valid API key.";
  const words: Readonly<Partial<Record<DialectName, object>>> = {
    anthropic: errorBodies.anthropic(balance),
    gemini: { error: { code: 400, message: notValid, status: "INVALID_ARGUMENT", details: [keyInvalid] } },
  };
  const scripted = (body: object): { status: number; headers: Record<string, string>; body: string } => ({
    status: 400,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const telling = ways.filter(({ vendor }) => words[vendor] !== undefined);

  test.each(telling.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
    const account = await gateway.openAccount();
    vendors.doubles[way.vendor].answerNext(scripted(words[way.vendor] ?? {}));
    const response = await ask(account, way, { turns: [{ user: "Hello." }] });
    expect(response.status).toBe(503);
    expect(await response.text()).not.toMatch(/credit|billing|api key/i);
    expect(await lastReceipt(gateway, account)).toMatchObject({
      outcome: "failed",
      charged_micros_usd: 0,
      attempts: [{ upstream: way.vendor, outcome: "key_rejected", status: 400 }],
    });
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });

  test("but not those that repeat the caller's", async () => {
    const account = await gateway.openAccount();
    const way = { spoken: "anthropic", vendor: "anthropic", stream: false } as const;
    const message = `tools.0.name: "${balance}" should match a pattern`;
    vendors.doubles.anthropic.answerNext(scripted(errorBodies.anthropic(message)));
    const response = await ask(account, way, { turns: [{ user: "Hello." }] });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { message } }]);
  });
});

describe("an image in a stream reaches the caller as it does in a whole answer", () => {
  // As large as real ones are.
  const base64 = "iVBORw0KGgo=".repeat(200_000);
  const url = `data:image/png;base64,${base64}`;
  const inlineData = { mimeType: "image/png", data: base64 };
  const parts = [{ text: "Here:" }, { inlineData }];
  const content = { role: "model", parts };
  const usageMetadata = { promptTokenCount: 4, candidatesTokenCount: 1290, totalTokenCount: 1294 };
  const drawn = { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
  const delta = { role: "assistant", content: "Here:", images: [{ type: "image_url", image_url: { url } }] };
  const choice = { index: 0, delta, finish_reason: "stop" };
  const usage = { prompt_tokens: 4, completion_tokens: 1290, total_tokens: 1294 };
  const events: Readonly<Record<string, string>> = {
    gemini: `data: ${JSON.stringify(drawn)}\n\n`,
    openai: `data: ${JSON.stringify({ id: "c", choices: [choice], usage })}\n\ndata: [DONE]\n\n`,
  };
  const shown: Readonly<Record<DialectName, string>> = {
    openai: JSON.stringify({ images: [{ type: "image_url", image_url: { url } }] }),
    anthropic: JSON.stringify({ type: "text_delta", text: `![image](${url})` }),
    gemini: JSON.stringify({ parts: [{ inlineData }] }).slice(1),
  };
  const drawing = ways.filter(
    ({ spoken, vendor, stream }) => stream && spoken !== vendor && vendor !== "anthropic",
  );

  test.each(drawing.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
    const account = await gateway.openAccount();
    vendors.doubles[way.vendor].answerNext({
      status: 200,
      headers: { "Content-Type": "text/event-stream" },
      body: events[way.vendor] ?? "",
    });
    const text = await (await ask(account, way, { turns: [{ user: "Draw." }] })).text();
    expect(text.includes(shown[way.spoken])).toBe(true);
    expect(dialects[way.spoken].hearStream(text.split("\n\n"))).toMatchObject({ stop: "end" });
    expect((await lastReceipt(gateway, account)).usage).toEqual({ input_tokens: 4, output_tokens: 1290 });
  });
});

describe("an answer that Google could not finish does not look complete, and is charged as Google bills it", () => {
  const usageMetadata = { promptTokenCount: 40, totalTokenCount: 40 };
  const failed = { candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }], usageMetadata };
  const foreign = ways.filter(({ spoken, vendor }) => vendor === "gemini" && spoken !== "gemini");

  test.each(foreign.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
    const account = await gateway.openAccount();
    const body = JSON.stringify(failed);
    vendors.doubles.gemini.answerNext({
      status: 200,
      headers: { "Content-Type": way.stream ? "text/event-stream" : "application/json" },
      body: way.stream ? `data: ${body}\n\n` : body,
    });
    const response = await ask(account, way, { turns: [{ user: "Look it up." }], tools: ["look_up"] });
    expect(await hear(response, way)).toMatchObject({ text: "", calls: [], stop: "filtered" });
    expectChargeOf(await lastReceipt(gateway, account), { input_tokens: 40, output_tokens: 0 });
  });
});

describe("a success that is none is an error in the caller's words, and costs nothing", () => {
  const translated = ways.filter(({ spoken, vendor }) => spoken !== vendor);

  const expectError = async (response: Response, { spoken }: Way): Promise<string> => {
    expect(response.status).toBe(502);
    const body = (await response.json()) as { type?: string; error: Record<string, unknown> };
    if (spoken === "anthropic") expect(body.type).toBe("error");
    expect(body.error[spoken === "gemini" ? "status" : "type"]).toBeString();
    return String(body.error["message"]);
  };

  test.each(translated.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
    const account = await gateway.openAccount();
    const notJson = [
      { type: "text/html", body: "<h1>maintenance</h1>" },
      { type: "application/json", body: '{"choices":[{"mess' },
      { type: "application/json", body: '"ok"' },
    ];
    for (const { type, body } of notJson) {
      vendors.doubles[way.vendor].answerNext({ status: 200, headers: { "Content-Type": type }, body });
      const response = await ask(account, way, { turns: [{ user: "Hello." }] });
      expect(await expectError(response, way)).toBe("provider request failed");
      expect(await lastReceipt(gateway, account)).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
    }

    const errors = ['{"error":{"message":"we are full"}}', '{"error":"we are full","choices":[]}'];
    for (const body of errors) {
      const headers = { "Content-Type": "application/json" };
      vendors.doubles[way.vendor].answerNext({ status: 200, headers, body });
      const response = await ask(account, way, { turns: [{ user: "Hello." }] });
      expect(await expectError(response, way)).toBe("we are full");
      expect(await lastReceipt(gateway, account)).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
    }
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });
});

describe("a stream the vendor cuts is told as broken off, and costs what passed of it", () => {
  test.each(ways.filter(({ stream }) => stream).map((way) => [nameOf(way), way] as const))(
    "%s",
    async (_, way) => {
      const double = vendors.doubles[way.vendor];
      // Words of four bytes, which is what a token is taken for: so an estimate is exact.
      const text = ["word", ...Array.from({ length: 19 }, () => " one")].join("");
      vendors.script.reply = { text };
      vendors.script.usage = undefined;
      const account = await gateway.openAccount();
      double.answerNext({ kind: "stream", afterEvents: 12, fault: "reset" });
      const heard = await hear(await ask(account, way, { turns: [{ user: "Go on." }] }), way);
      expect(heard.text).not.toBe("");
      expect(text.startsWith(heard.text)).toBe(true);
      expect(heard.text.length).toBeLessThan(text.length);
      expect(heard.stop).toBeNull();
      expect(heard.error).toContain("broke off");

      const receipt = await lastReceipt(gateway, account);
      expect(receipt).toMatchObject({ status: "settled", usage_source: "estimated" });
      expect(receipt.usage["output_tokens"]).toBe(usageInBook(lastInBook(double))["output_tokens"]);
      expectChargeOf(receipt, receipt.usage);
      expect((await gateway.balance(account)).held).toBe(0);
    },
  );
});

interface Unsayable {
  readonly spoken: DialectName;
  readonly vendor: DialectName;
  /** As the refusal names it. */
  readonly field: string;
  readonly members: object;
}

const tool = { type: "function", function: { name: "look_up", parameters: { type: "object" } } };
const claudeTool = { name: "look_up", input_schema: { type: "object" } };
const found = { type: "search_result", source: "s", title: "t", content: [{ type: "text", text: "Once." }] };
const unsayable: readonly Unsayable[] = [
  { spoken: "openai", vendor: "anthropic", field: "seed", members: { seed: 7 } },
  { spoken: "openai", vendor: "anthropic", field: "frequency_penalty", members: { frequency_penalty: 1 } },
  { spoken: "openai", vendor: "anthropic", field: "presence_penalty", members: { presence_penalty: 1 } },
  { spoken: "openai", vendor: "anthropic", field: "temperature", members: { temperature: 1.5 } },
  {
    spoken: "openai",
    vendor: "anthropic",
    field: "response_format",
    members: { response_format: { type: "json_object" } },
  },
  ...(["anthropic", "gemini"] as const).flatMap((vendor): readonly Unsayable[] => [
    { spoken: "openai", vendor, field: "n", members: { n: 2 } },
    { spoken: "openai", vendor, field: "logit_bias", members: { logit_bias: { "50256": -100 } } },
    { spoken: "openai", vendor, field: "logprobs", members: { logprobs: true } },
    { spoken: "openai", vendor, field: "web_search_options", members: { web_search_options: {} } },
    {
      spoken: "openai",
      vendor,
      field: "messages[0].weight",
      members: { messages: [{ role: "user", content: "Hello.", weight: 1 }] },
    },
  ]),
  {
    spoken: "openai",
    vendor: "gemini",
    field: "parallel_tool_calls",
    members: { tools: [tool], parallel_tool_calls: false },
  },
  { spoken: "anthropic", vendor: "openai", field: "top_k", members: { top_k: 5 } },
  {
    spoken: "anthropic",
    vendor: "gemini",
    field: "parallel_tool_calls",
    members: { tools: [claudeTool], tool_choice: { type: "auto", disable_parallel_tool_use: true } },
  },
  ...(["openai", "gemini"] as const).flatMap((vendor): readonly Unsayable[] => [
    { spoken: "anthropic", vendor, field: "max_tokens", members: { max_tokens: 0 } },
    {
      spoken: "anthropic",
      vendor,
      field: "messages.0.content.0",
      members: { messages: [{ role: "user", content: [found] }] },
    },
    {
      spoken: "anthropic",
      vendor,
      field: "messages.0.content.0.zzz",
      members: { messages: [{ role: "user", content: [{ type: "text", text: "Hello.", zzz: 1 }] }] },
    },
    {
      spoken: "anthropic",
      vendor,
      field: "messages",
      members: {
        messages: [
          { role: "user", content: "A JSON object, please." },
          { role: "assistant", content: "{" },
        ],
      },
    },
    {
      spoken: "anthropic",
      vendor,
      field: "tools",
      members: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
    },
  ]),
  { spoken: "gemini", vendor: "openai", field: "top_k", members: { generationConfig: { topK: 5 } } },
  { spoken: "gemini", vendor: "anthropic", field: "seed", members: { generationConfig: { seed: 7 } } },
  ...(["openai", "anthropic"] as const).flatMap((vendor): readonly Unsayable[] => [
    {
      spoken: "gemini",
      vendor,
      field: "generationConfig.candidateCount",
      members: { generationConfig: { candidateCount: 2 } },
    },
    { spoken: "gemini", vendor, field: "tools[0].googleSearch", members: { tools: [{ googleSearch: {} }] } },
    { spoken: "gemini", vendor, field: "cachedContent", members: { cachedContent: "cachedContents/1" } },
    {
      spoken: "gemini",
      vendor,
      field: "safetySettings[0].threshold",
      members: {
        safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_LOW_AND_ABOVE" }],
      },
    },
  ]),
];

describe("what the vendor cannot be told is a 400 that names it, before anything is held or sent", () => {
  test.each(unsayable.map((row) => [`${row.field} of ${row.spoken} to ${row.vendor}`, row] as const))(
    "%s",
    async (_, { spoken, vendor, field, members }) => {
      const account = await gateway.openAccount();
      const sent = vendors.doubles[vendor].requests.length;
      for (const stream of [false, true]) {
        const dialect = dialects[spoken];
        const body = { ...dialect.body({ turns: [{ user: "Hello." }] }, models[vendor], stream), ...members };
        const response = await gateway.post(account, dialect.path(models[vendor], stream), body);
        expect(response.status).toBe(400);
        const { error } = (await response.json()) as { error: Record<string, unknown> };
        expect(String(error["message"])).toContain(field);
        expect(error["code"] === 400 ? error["reason"] : error["code"]).toBe("invalid_parameters");
      }
      expect(vendors.doubles[vendor].requests).toHaveLength(sent);
      const calls = (await (await gateway.call(account, "/v1/requests")).json()) as {
        data: readonly unknown[];
      };
      expect(calls.data).toEqual([]);
    },
  );
});

interface Sayable {
  readonly promise: string;
  readonly spoken: DialectName;
  readonly vendor: DialectName;
  readonly members: object;
  /** What the vendor reads of it. */
  readonly said: object;
}

const sha256 = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");
const longLabel = JSON.stringify({ device_id: "d".repeat(64), session_id: "s".repeat(36) });

const loose = { type: "object", properties: { a: { type: "string" } } };

const sayable: readonly Sayable[] = [
  {
    promise: "a schema with an optional member is one to OpenAI, though not a strict one",
    spoken: "anthropic",
    vendor: "openai",
    members: {
      output_config: { format: { type: "json_schema", schema: loose } },
      tools: [{ name: "look_up", input_schema: loose, strict: true }],
    },
    said: {
      response_format: { json_schema: { schema: loose } },
      tools: [{ function: { parameters: loose } }],
    },
  },
  {
    promise: "functions that Gemini validates are functions to OpenAI",
    spoken: "gemini",
    vendor: "openai",
    members: {
      tools: [{ functionDeclarations: [{ name: "look_up", parametersJsonSchema: loose }] }],
      toolConfig: { functionCallingConfig: { mode: "VALIDATED" } },
    },
    said: { tools: [{ function: { name: "look_up", parameters: loose } }], tool_choice: "auto" },
  },
  {
    promise: "an end user's label that OpenAI takes reaches it",
    spoken: "anthropic",
    vendor: "openai",
    members: { metadata: { user_id: "user_42-a" } },
    said: { user: "user_42-a" },
  },
  {
    promise: "an end user's label that is too long for OpenAI reaches it as a hash",
    spoken: "anthropic",
    vendor: "openai",
    members: { metadata: { user_id: longLabel } },
    said: { user: sha256(longLabel) },
  },
  ...["ada@example.com", "+49 30 901820", "4930901820"].map((user): Sayable => ({
    promise: `an end user's label that Anthropic refuses reaches it as a hash: ${user}`,
    spoken: "openai",
    vendor: "anthropic",
    members: { user },
    said: { metadata: { user_id: sha256(user) } },
  })),
  {
    promise: "instructions within Anthropic's messages are instructions to OpenAI",
    spoken: "anthropic",
    vendor: "openai",
    members: {
      messages: [
        { role: "user", content: "Hello." },
        { role: "system", content: "Be brief." },
      ],
    },
    said: {
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello." },
      ],
    },
  },
  ...(["xhigh", "max"] as const).flatMap((effort): readonly Sayable[] => [
    {
      promise: `an effort of ${effort} is one to OpenAI`,
      spoken: "anthropic",
      vendor: "openai",
      members: { output_config: { effort } },
      said: { reasoning_effort: effort },
    },
    {
      promise: `an effort of ${effort} is the largest budget to Gemini`,
      spoken: "openai",
      vendor: "gemini",
      members: { reasoning_effort: effort },
      said: { generationConfig: { thinkingConfig: { thinkingBudget: 24_576 } } },
    },
  ]),
];

describe("what the vendor can be told is told in its own words, and paid for", () => {
  test.each(sayable.map((row) => [row.promise, row] as const))(
    "%s",
    async (_, { spoken, vendor, members, said }) => {
      vendors.script.reply = { text: "Yes." };
      vendors.script.usage = undefined;
      const account = await gateway.openAccount();
      for (const stream of [false, true]) {
        const dialect = dialects[spoken];
        const body = { ...dialect.body({ turns: [{ user: "Hello." }] }, models[vendor], stream), ...members };
        const response = await gateway.post(account, dialect.path(models[vendor], stream), body);
        const answered = await response.text();
        if (response.status !== 200) throw new Error(`${response.status} ${answered}`);
        const sent = Buffer.from(vendors.doubles[vendor].requests.at(-1)?.body ?? []).toString();
        expect(JSON.parse(sent)).toMatchObject(said);
        expectChargeOf(await lastReceipt(gateway, account), usageInBook(lastInBook(vendors.doubles[vendor])));
      }
    },
  );
});
