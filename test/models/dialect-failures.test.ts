// What goes wrong at a vendor, in the words of every caller's dialect: told with its reason, never as a success, and charged for what it was.

import { describe, expect, test } from "bun:test";
import { hear, nameOf, useDialects, ways, type Way } from "./dialect-ways.ts";
import { type DialectName } from "../streams/dialects.ts";
import { expectChargeOf, lastInBook, lastReceipt, usageInBook } from "../streams/model-vendors.ts";

const { vendors, gateway, ask } = await useDialects();

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

test.each([
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
  [529, "UNAVAILABLE"],
])("Claude's %i is %s to callers of Gemini's dialect", async (status, word) => {
  const account = await gateway.openAccount();
  const [way] = ways.filter(({ spoken, vendor }) => spoken === "gemini" && vendor === "anthropic");
  if (!way) throw new Error("Nobody asks Claude in Gemini's words.");
  vendors.doubles.anthropic.answerNext({
    status,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(errorBodies.anthropic("Overloaded")),
  });
  const response = await ask(account, way, { turns: [{ user: "Hello." }] });
  expect([response.status, await response.json()]).toMatchObject([
    status,
    { error: { code: status, message: "Overloaded", status: word } },
  ]);
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
      "seed: not a number; stop: not a list",
    ],
    [
      "details in place of a message",
      {
        object: "error",
        message: { detail: [{ loc: ["body", "messages", 0, "name"], msg: "not permitted" }] },
      },
      "messages.0.name: not permitted",
    ],
    [
      "a list in place of a message",
      { object: "Error", message: [{ loc: ["body"], msg: "not permitted" }] },
      "not permitted",
    ],
    [
      "a list of errors",
      { errors: [{ code: 5006, message: "too long" }], success: false, result: {} },
      "too long",
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
  const invalid = {
    error: { code: 400, message: notValid, status: "INVALID_ARGUMENT", details: [keyInvalid] },
  };
  const words: Readonly<Partial<Record<DialectName, readonly object[]>>> = {
    anthropic: [errorBodies.anthropic(balance)],
    // In a list where the answer would have been one.
    gemini: [invalid, [invalid]],
  };
  const scripted = (body: object): { status: number; headers: Record<string, string>; body: string } => ({
    status: 400,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const telling = ways.filter(({ vendor }) => words[vendor] !== undefined);

  test.each(telling.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
    const account = await gateway.openAccount();
    for (const body of words[way.vendor] ?? []) {
      vendors.doubles[way.vendor].answerNext(scripted(body));
      const response = await ask(account, way, { turns: [{ user: "Hello." }] });
      expect(response.status).toBe(503);
      expect(await response.text()).not.toMatch(/credit|billing|api key/i);
      expect(await lastReceipt(gateway, account)).toMatchObject({
        outcome: "failed",
        charged_micros_usd: 0,
        attempts: [{ upstream: way.vendor, outcome: "key_rejected", status: null }],
      });
    }
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
