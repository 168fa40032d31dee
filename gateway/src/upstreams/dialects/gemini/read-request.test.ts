import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { geminiDialect } from "./gemini-dialect.ts";
import { fieldRefused, read } from "./test-read.ts";

test("the model and whether it streams are those of the path", () => {
  const asked = { model: "gemini-2.5-pro", stream: true };
  expect(geminiDialect.readRequest({ contents: "hi", model: "other" }, asked)).toMatchObject(asked);
});

test("a request means the same in camelCase and in snake_case", () => {
  const camel = read({
    systemInstruction: { parts: [{ text: "be brief" }] },
    contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: "AA==" } }] }],
    tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: { type: "object", title: "t" } }] }],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    generationConfig: { maxOutputTokens: 9, topP: 0.5, thinkingConfig: { thinkingBudget: 100 } },
  });
  const snake = read({
    system_instruction: { parts: [{ text: "be brief" }] },
    contents: [{ parts: [{ inline_data: { mime_type: "image/png", data: "AA==" } }] }],
    tools: [
      { function_declarations: [{ name: "f", parameters_json_schema: { type: "object", title: "t" } }] },
    ],
    tool_config: { function_calling_config: { mode: "ANY", allowed_function_names: ["f"] } },
    generation_config: { max_output_tokens: 9, top_p: 0.5, thinking_config: { thinking_budget: 100 } },
  });
  expect(snake).toEqual(camel);
  expect(camel).toMatchObject({
    system: [{ kind: "text", text: "be brief" }],
    messages: [{ role: "user", parts: [{ source: { mimeType: "image/png", base64: "AA==" } }] }],
    toolChoice: { name: "f" },
    outputTokensMax: 9,
    topP: 0.5,
    reasoning: { budgetTokens: 100 },
  });
});

test("a member in both spellings is refused", () => {
  expect(fieldRefused({ toolConfig: {}, tool_config: {} })).toBe("tool_config");
});

test("schemas in Google's words become JSON schemas, at every depth", () => {
  const parameters = {
    type: "OBJECT",
    property_ordering: ["min_items"],
    properties: {
      min_items: { type: "ARRAY", min_items: "2", items: { type: "STRING", enum: ["A"], nullable: true } },
      either: { any_of: [{ type: "INTEGER" }, { type: "TYPE_UNSPECIFIED" }], nullable: true },
    },
  };
  expect(read({ tools: [{ functionDeclarations: [{ name: "f", parameters }] }] }).tools).toEqual([
    {
      name: "f",
      description: undefined,
      strict: undefined,
      parameters: {
        type: "object",
        properties: {
          min_items: { type: "array", minItems: 2, items: { type: ["string", "null"], enum: ["A", null] } },
          either: { anyOf: [{ type: "integer" }, {}, { type: "null" }] },
        },
      },
    },
  ]);
});

test("a schema in Google's words is closed where a model is held to it, and not where it is not", () => {
  const inner = { type: "OBJECT", properties: { b: { type: "STRING" } }, required: ["b"], nullable: true };
  const either = { anyOf: [inner, { type: "OBJECT" }] };
  const schema = { type: "OBJECT", properties: { list: { type: "ARRAY", items: inner }, either } };
  const b = { properties: { b: { type: "string" } }, required: ["b"] };
  const closedInner = { type: ["object", "null"], ...b, additionalProperties: false };
  const openInner = { type: ["object", "null"], ...b };
  const inWords = (written: JsonObject): JsonObject => ({
    type: "object",
    properties: {
      list: { type: "array", items: written },
      either: { anyOf: [written, { type: "object" }] },
    },
  });
  const closed = { ...inWords(closedInner), additionalProperties: false };
  const generationConfig = { responseMimeType: "application/json", responseSchema: schema };
  expect(read({ generationConfig }).output).toEqual({
    kind: "json_schema",
    name: "response",
    schema: closed,
    strict: true,
  });
  const parametersIn = (mode: string): unknown =>
    read({
      tools: [{ functionDeclarations: [{ name: "f", parameters: schema }] }],
      toolConfig: { functionCallingConfig: { mode } },
    }).tools[0]?.parameters;
  expect(parametersIn("VALIDATED")).toEqual(closed);
  expect(parametersIn("AUTO")).toEqual(inWords(openInner));
});

test("a function without parameters takes an empty object", () => {
  expect(read({ tools: [{ functionDeclarations: [{ name: "f" }] }] }).tools[0]?.parameters).toEqual({
    type: "object",
    properties: {},
  });
});

test("Google's own tools are refused by their names", () => {
  for (const tool of ["googleSearch", "google_search", "codeExecution", "urlContext"]) {
    expect(fieldRefused({ tools: [{ [tool]: {} }] })).toBe(`tools[0].${tool}`);
  }
});

test("every mode of function calling has its choice", () => {
  const choice = (mode: string, allowedFunctionNames?: readonly string[]): ChatRequest["toolChoice"] =>
    read({ toolConfig: { functionCallingConfig: { mode, allowedFunctionNames } } }).toolChoice;
  expect(choice("AUTO")).toBe("auto");
  expect(choice("NONE")).toBe("none");
  expect(choice("ANY")).toBe("required");
  expect(choice("MODE_UNSPECIFIED")).toBeUndefined();
  expect(choice("ANY", ["f"])).toEqual({ name: "f" });
  expect(() => choice("ANY", ["f", "g"])).toThrow("allowedFunctionNames");
  expect(() => choice("AUTO", ["f"])).toThrow("allowedFunctionNames");
  expect(() => choice("SOMETIMES")).toThrow("mode");
});

test("a call of one of several functions is a call of any where no others are declared", () => {
  const asked = (...allowedFunctionNames: readonly string[]): unknown[] => {
    const { tools, toolChoice } = read({
      tools: [
        { functionDeclarations: [{ name: "f" }, { name: "g" }] },
        { functionDeclarations: [{ name: "h" }] },
      ],
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames } },
    });
    return [toolChoice, tools.map(({ name }) => name)];
  };
  expect(asked("f", "g", "h")).toEqual(["required", ["f", "g", "h"]]);
  expect(asked("h", "f", "h")).toEqual(["required", ["f", "h"]]);
  expect(asked("g", "g")).toEqual([{ name: "g" }, ["f", "g", "h"]]);
  expect(() => asked("f", "x")).toThrow('allowedFunctionNames: "x" is not declared');
});

test("a validated mode is a free choice among strict tools", () => {
  const request = read({
    tools: [{ functionDeclarations: [{ name: "f" }] }],
    toolConfig: { functionCallingConfig: { mode: "VALIDATED" } },
  });
  expect(request).toMatchObject({ toolChoice: "auto", tools: [{ strict: true }] });
});

test("all settings of the generation are read", () => {
  const numbers = {
    temperature: 0.1,
    topP: 0.2,
    topK: 3,
    seed: 4,
    frequencyPenalty: 0.5,
    presencePenalty: 0.6,
  };
  const generationConfig = { ...numbers, maxOutputTokens: 7, stopSequences: ["x"], candidateCount: 1 };
  expect(read({ generationConfig })).toMatchObject({ ...numbers, outputTokensMax: 7, stop: ["x"] });
});

test("what top_p and top_k are without a word, which Google's own clients always say, is not said to others", () => {
  const { topP, topK } = read({ generationConfig: { temperature: 1, topP: 0.95, topK: 64 } });
  expect({ topP, topK }).toEqual({ topP: undefined, topK: undefined });
});

test("the format of the output is read", () => {
  const output = (generationConfig: JsonObject): ChatRequest["output"] => read({ generationConfig }).output;
  const json = { responseMimeType: "application/json" };
  const schema = { kind: "json_schema", schema: { type: "object" } } as const;
  expect(output({})).toBeUndefined();
  expect(output({ responseMimeType: "text/plain" })).toEqual({ kind: "text" });
  expect(output(json)).toEqual({ kind: "json" });
  expect(output({ ...json, responseSchema: { type: "OBJECT" } })).toMatchObject(schema);
  expect(output({ ...json, response_json_schema: { type: "object" } })).toMatchObject(schema);
  expect(() => output({ responseMimeType: "text/x.enum" })).toThrow("generationConfig.responseMimeType");
});

test("thinking is read as a budget, a level or none", () => {
  const reasoning = (thinkingConfig: JsonObject): ChatRequest["reasoning"] =>
    read({ generationConfig: { thinkingConfig } }).reasoning;
  expect(reasoning({ thinkingBudget: 2048, includeThoughts: true })).toEqual({ budgetTokens: 2048 });
  expect(reasoning({ thinkingBudget: 0 })).toBe("off");
  expect(reasoning({ thinkingBudget: -1 })).toBeUndefined();
  expect(reasoning({ thinkingLevel: "HIGH" })).toEqual({ effort: "high" });
  expect(reasoning({ includeThoughts: true })).toBeUndefined();
  expect(() => reasoning({ thinkingLevel: "WILD" })).toThrow("thinkingConfig.thinkingLevel");
});

test("what would change the answer is refused by the name the caller wrote", () => {
  const config = (generationConfig: JsonObject): string => fieldRefused({ generationConfig });
  expect(config({ candidateCount: 2 })).toBe("generationConfig.candidateCount");
  expect(config({ responseModalities: ["TEXT", "IMAGE"] })).toBe("generationConfig.responseModalities");
  expect(config({ responseModalities: ["AUDIO"] })).toBe("generationConfig.responseModalities");
  expect(config({ responseLogprobs: true })).toBe("generationConfig.responseLogprobs");
  expect(config({ temperature: "hot" })).toBe("generationConfig.temperature");
  expect(fieldRefused({ generation_config: { candidate_count: 2 } })).toBe(
    "generation_config.candidate_count",
  );
  expect(fieldRefused({ cachedContent: "cachedContents/1" })).toBe("cachedContent");
  expect(fieldRefused({ somethingNew: { a: 1 } })).toBe("somethingNew");
});

test("what is harmless is dropped", () => {
  const safetySettings = [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }];
  const generationConfig = { responseModalities: ["TEXT"], responseLogprobs: false, speechConfig: null };
  for (const tier of ["standard", "flex"]) {
    expect(read({ serviceTier: tier })).toEqual(read({}));
    expect(read({ service_tier: tier })).toEqual(read({}));
  }
  expect(read({ safetySettings, labels: { team: "a" }, cachedContent: "", generationConfig })).toEqual(
    read({}),
  );
});

test("filters that another vendor cannot promise are refused by name, and none is needed to ask for none", () => {
  const category = "HARM_CATEGORY_HARASSMENT";
  for (const threshold of ["BLOCK_NONE", "OFF", "HARM_BLOCK_THRESHOLD_UNSPECIFIED", undefined]) {
    expect(read({ safetySettings: [{ category, threshold }] })).toEqual(read({}));
  }
  for (const threshold of ["BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "NEW"]) {
    const settings = [
      { category, threshold: "OFF" },
      { category, threshold },
    ];
    expect(fieldRefused({ safetySettings: settings })).toBe("safetySettings[1].threshold");
    expect(fieldRefused({ safety_settings: settings })).toBe("safety_settings[1].threshold");
  }
  expect(fieldRefused({ safetySettings: "strict" })).toBe("safetySettings");
});
