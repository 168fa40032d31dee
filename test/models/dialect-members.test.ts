// Members of one dialect for a vendor of another: told in its own words, or refused by name before anything is held.

import { describe, expect, test } from "bun:test";
import { useDialects } from "./dialect-ways.ts";
import { dialectNames, dialects, type DialectName } from "../streams/dialects.ts";
import { expectChargeOf, lastInBook, lastReceipt, models, usageInBook } from "../streams/model-vendors.ts";

const { vendors, gateway } = await useDialects();

interface Unsayable {
  readonly spoken: DialectName;
  readonly vendor: DialectName;
  /** As the refusal names it. */
  readonly field: string;
  readonly members: object;
}

const tool = { type: "function", function: { name: "look_up", parameters: { type: "object" } } };

const claudeTool = { name: "look_up", input_schema: { type: "object" } };

const bareList = (array: string, object: string) => ({ type: object, properties: { tags: { type: array } } });

const mapped = { type: "object", additionalProperties: { type: "string" } };

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
    field: "tool_choice.disable_parallel_tool_use",
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
  ...(["openai", "anthropic"] as const).map((vendor): Unsayable => ({
    spoken: "gemini",
    vendor,
    field: "toolConfig.functionCallingConfig",
    members: { toolConfig: { functionCallingConfig: { mode: "ANY" } } },
  })),
  ...(
    [
      ["openai", "topK", { topK: 5 }],
      ["anthropic", "seed", { seed: 7 }],
      ["anthropic", "presencePenalty", { presencePenalty: 1 }],
      ["anthropic", "frequencyPenalty", { frequencyPenalty: 1 }],
      ["anthropic", "temperature", { temperature: 1.5 }],
      ["anthropic", "stopSequences", { stopSequences: [" "] }],
      ["anthropic", "responseMimeType", { responseMimeType: "application/json" }],
      ["anthropic", "responseSchema", { responseMimeType: "application/json", responseJsonSchema: mapped }],
    ] as const
  ).map(([vendor, name, generationConfig]): Unsayable => ({
    spoken: "gemini",
    vendor,
    field: `generationConfig.${name}`,
    members: { generationConfig },
  })),
  {
    spoken: "gemini",
    vendor: "anthropic",
    field: "contents",
    members: { contents: [{ role: "model", parts: [{ text: "Hello." }] }] },
  },
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
        expect(String(error["message"])).toStartWith(field);
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

const answer = { properties: { a: { type: "string" } }, required: ["a"] };

const referring = (member: object) => ({
  type: "object",
  properties: { a: member },
  required: ["a"],
  additionalProperties: false,
  $defs: { name: { type: "string" } },
});

const use = (id: string) => ({ type: "tool_use", id, name: "look_up", input: {} });
const used = (id: string, content: unknown) => ({ type: "tool_result", tool_use_id: id, content });
const shown = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
const call = (id: string) => ({ id, function: { name: "look_up" } });
const called = { role: "assistant", tool_calls: [call("toolu_1"), call("toolu_2")] };
const told = ["toolu_1", "toolu_2"].map((id) => ({ role: "tool", tool_call_id: id }));

const sayable: readonly Sayable[] = [
  {
    promise: "results that the caller split, one with an image, follow their calls to OpenAI directly",
    spoken: "anthropic",
    vendor: "openai",
    members: {
      tools: [claudeTool],
      messages: [
        { role: "user", content: "Look." },
        { role: "assistant", content: [use("toolu_1"), use("toolu_2")] },
        { role: "user", content: "Here they are." },
        { role: "user", content: [used("toolu_1", [shown])] },
        { role: "user", content: [used("toolu_2", "ok")] },
      ],
    },
    said: {
      messages: [
        {},
        called,
        ...told,
        {
          role: "user",
          content: [
            { text: "From the result of toolu_1:" },
            { type: "image_url" },
            { text: "Here they are." },
          ],
        },
      ],
    },
  },
  {
    promise: "calls that the caller split are the calls of one turn to OpenAI",
    spoken: "anthropic",
    vendor: "openai",
    members: {
      tools: [claudeTool],
      messages: [
        { role: "user", content: "Look." },
        { role: "assistant", content: [use("toolu_1")] },
        { role: "assistant", content: [use("toolu_2")] },
        { role: "assistant", content: "One moment." },
        { role: "user", content: [used("toolu_1", "ok"), used("toolu_2", "ok")] },
      ],
    },
    said: { messages: [{}, { ...called, content: "One moment." }, ...told] },
  },
  ...[
    {
      spoken: "anthropic" as const,
      members: { tools: [{ name: "tag", input_schema: bareList("array", "object") }] },
    },
    {
      spoken: "gemini" as const,
      members: {
        tools: [{ functionDeclarations: [{ name: "tag", parameters: bareList("ARRAY", "OBJECT") }] }],
      },
    },
  ].map(({ spoken, members }) => ({
    promise: `a tool of ${spoken}'s callers that does not say what a list holds is one to OpenAI`,
    spoken,
    vendor: "openai" as const,
    members,
    said: {
      tools: [{ function: { parameters: { properties: { tags: { type: "array", items: {} } } } } }],
    },
  })),
  ...(["openai", "gemini"] as const).map((vendor) => ({
    promise: `a prompt of Claude Code's begins for ${vendor} with what is the same in every request`,
    spoken: "anthropic" as const,
    vendor,
    members: {
      system: [
        { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.177.01c; cch=36ee5;" },
        { type: "text", text: "You are helpful.", cache_control: { type: "ephemeral" } },
      ],
    },
    said:
      vendor === "openai"
        ? { messages: [{ role: "system", content: "You are helpful." }, {}] }
        : { systemInstruction: { parts: [{ text: "You are helpful." }] } },
  })),
  {
    promise: "messages of one role stay messages of their own to OpenAI where no tool is in them",
    spoken: "anthropic",
    vendor: "openai",
    members: {
      messages: [
        { role: "user", content: "Hello." },
        { role: "user", content: "Are you there?" },
      ],
    },
    said: { messages: [{ content: "Hello." }, { content: "Are you there?" }] },
  },
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
  ...Object.entries({
    "with words beside a reference": referring({ $ref: "#/$defs/name", description: "Its name." }),
    "that leaves a type open": referring({ description: "Whatever it is." }),
  }).map(([what, schema]): Sayable => ({
    promise: `a schema ${what} is one to OpenAI, though not a strict one`,
    spoken: "anthropic",
    vendor: "openai",
    members: {
      output_config: { format: { type: "json_schema", schema } },
      tools: [{ name: "look_up", input_schema: schema, strict: true }],
    },
    said: { response_format: { json_schema: { schema } }, tools: [{ function: { parameters: schema } }] },
  })),
  ...Object.entries({
    "in Google's words": { responseSchema: { type: "OBJECT", ...answer } },
    "as a JSON schema": { responseJsonSchema: { type: "object", ...answer, additionalProperties: false } },
  }).map(([how, written]): Sayable => ({
    promise: `an answer's schema that a caller of Gemini's wrote ${how} is one that OpenAI holds its model to`,
    spoken: "gemini",
    vendor: "openai",
    members: { generationConfig: { responseMimeType: "application/json", ...written } },
    said: {
      response_format: {
        type: "json_schema",
        json_schema: { strict: true, schema: { type: "object", ...answer, additionalProperties: false } },
      },
    },
  })),
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
  ...(["openai", "anthropic"] as const).map((vendor): Sayable => ({
    promise: `a call of any function by its name, which LangChain asks Gemini for, is asked of ${vendor}`,
    spoken: "gemini",
    vendor,
    members: {
      tools: [{ functionDeclarations: [{ name: "look_up" }, { name: "look_down" }] }],
      toolConfig: {
        functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["look_up", "look_down"] },
      },
    },
    said:
      vendor === "openai"
        ? { tools: [{}, {}], tool_choice: "required" }
        : { tools: [{}, {}], tool_choice: { type: "any" } },
  })),
  ...(["anthropic", "gemini"] as const).map((vendor): Sayable => ({
    promise: `a choice among some of OpenAI's functions is one among all that ${vendor} is told of`,
    spoken: "openai",
    vendor,
    members: {
      tools: ["look_up", "look_down", "look_away"].map((name) => ({ ...tool, function: { name } })),
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: {
          mode: "required",
          tools: ["look_up", "look_away"].map((name) => ({ type: "function", function: { name } })),
        },
      },
    },
    said:
      vendor === "anthropic"
        ? { tools: [{ name: "look_up" }, { name: "look_away" }], tool_choice: { type: "any" } }
        : {
            tools: [{ functionDeclarations: [{ name: "look_up" }, { name: "look_away" }] }],
            toolConfig: { functionCallingConfig: { mode: "ANY" } },
          },
  })),
  ...(["openai", "anthropic"] as const).map((vendor): Sayable => ({
    promise: `notes of a caller of Gemini's, and a wish to look closely, stop nothing from reaching ${vendor}`,
    spoken: "gemini",
    vendor,
    members: {
      generationConfig: { mediaResolution: "MEDIA_RESOLUTION_HIGH" },
      contents: [
        { role: "user", parts: [{ text: "Look.", partMetadata: { from: "a form" } }] },
        { role: "model", parts: [{ functionCall: { id: "call_1", name: "look_up", args: {} } }] },
        {
          role: "user",
          parts: [
            {
              functionResponse: {
                id: "call_1",
                name: "look_up",
                response: { output: "ok" },
                parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" }, mediaProcessing: "STATIC" }],
              },
            },
          ],
        },
      ],
      tools: [{ functionDeclarations: [{ name: "look_up" }] }],
    },
    said: {
      messages: vendor === "openai" ? [{ content: "Look." }, {}, {}, {}] : [{ role: "user" }, {}, {}],
    },
  })),
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
    promise: "instructions within Anthropic's messages come first for who may know them there alone",
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

describe("whoever calls in Gemini's dialect", () => {
  const answersTo = async (vendor: DialectName, body: object): Promise<unknown> => {
    vendors.script.reply = { text: "Yes." };
    const path = dialects.gemini.path(models[vendor], false);
    const response = await gateway.post(await gateway.openAccount(), path, body);
    const answered = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${answered}`);
    return vendors.doubles[vendor].asked.at(-1);
  };
  test.each(dialectNames)("may write one object where there is a list, to %s", async (vendor) => {
    const body = {
      contents: { role: "user", parts: { text: "Hello." } },
      system_instruction: { parts: { text: "Be brief." } },
      tools: { functionDeclarations: { name: "look_up", parametersJsonSchema: loose } },
    };
    expect(await answersTo(vendor, body)).toMatchObject({
      turns: [{ role: "user", text: "Hello." }],
      system: "Be brief.",
      tools: ["look_up"],
    });
    const contents = [
      { role: "user", parts: { text: "Look." } },
      { role: "model", parts: { functionCall: { id: "call_1", name: "look_up", args: {} } } },
      { role: "user", parts: { functionResponse: { id: "call_1", name: "look_up", response: { a: "b" } } } },
    ];
    expect(await answersTo(vendor, { ...body, contents })).toMatchObject({
      turns: [
        { text: "Look." },
        { toolCalls: [{ name: "look_up" }] },
        { toolResults: [{ name: "look_up" }] },
      ],
    });
  });

  test.each(dialectNames)("may write a text for all contents, to %s", async (vendor) => {
    expect(await answersTo(vendor, { contents: "Hello." })).toMatchObject({
      turns: [{ role: "user", text: "Hello." }],
    });
  });
});
