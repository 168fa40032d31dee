// The loops of tools that the official clients run by themselves, with the models of all three vendors.

import { describe, expect, test } from "bun:test";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { makeParseableTextFormat } from "openai/lib/parser";
import type { ResponseInput, ResponseOutputItem } from "openai/resources/responses/responses";
import { createAnthropicClient } from "../streams/anthropic-client.ts";
import { createGoogleClient } from "../streams/google-client.ts";
import { citySchema } from "../streams/official-client.ts";
import { createOpenAiClient } from "../streams/openai-client.ts";
import { vercelModels } from "../streams/vercel-client.ts";
import { models, useOfficialClients, type Model } from "./official-clients.ts";

const { gateway } = await useOfficialClients();

describe("the clients' own loops of tools come to their end", () => {
  const asked = "Use get_weather for Rome.";

  test.each(models)("runTools of openai, %s", async (model) => {
    const { key } = await gateway.openAccount();
    const cities: string[] = [];
    const runner = createOpenAiClient(gateway.url, key).chat.completions.runTools({
      model,
      stream: true,
      messages: [{ role: "user", content: asked }],
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            description: "Says what the weather is.",
            parameters: citySchema,
            parse: (text: string) => JSON.parse(text) as { city: string },
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return "19 degrees";
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain("19 degrees");
    expect(cities).toHaveLength(1);
  });

  test.each(models)("toolRunner of @anthropic-ai/sdk, which asks for a thread first, %s", async (model) => {
    const { key } = await gateway.openAccount();
    const client = createAnthropicClient(gateway.url, key);
    const cities: string[] = [];
    const request = {
      model,
      max_tokens: 300,
      messages: [{ role: "user" as const, content: asked }],
      tools: [
        betaTool({
          name: "get_weather",
          description: "Says what the weather is.",
          inputSchema: citySchema,
          run: ({ city }) => {
            cities.push(String(city));
            return "19 degrees";
          },
        }),
      ],
    };
    const whole = await client.beta.messages.toolRunner(request);
    const streamed = await client.beta.messages.toolRunner({ ...request, stream: true }).runUntilDone();
    for (const { content } of [whole, streamed]) expect(JSON.stringify(content)).toContain("19 degrees");
    expect(cities).toHaveLength(2);
  });

  test.each(models)("messages.stream of @anthropic-ai/sdk, turn by turn, %s", async (model) => {
    const { key } = await gateway.openAccount();
    const client = createAnthropicClient(gateway.url, key);
    const request = {
      model,
      max_tokens: 300,
      tools: [{ name: "get_weather", description: "Says what the weather is.", input_schema: citySchema }],
    };
    const first = await client.messages
      .stream({ ...request, messages: [{ role: "user", content: asked }] })
      .finalMessage();
    expect(first.stop_reason).toBe("tool_use");
    const [call] = first.content.filter((block) => block.type === "tool_use");
    const last = await client.messages
      .stream({
        ...request,
        messages: [
          { role: "user", content: asked },
          { role: "assistant", content: first.content },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "19 degrees" }],
          },
        ],
      })
      .finalText();
    expect(last).toContain("19 degrees");
  });

  test.each(models)("a chat of @google/genai remembers what was streamed, %s", async (model) => {
    const { key } = await gateway.openAccount();
    const chat = createGoogleClient(gateway.url, key).chats.create({ model });
    let answer = "";
    for await (const { text } of await chat.sendMessageStream({ message: "Why is the sky blue?" }))
      answer += text ?? "";
    expect(answer).toContain("sky");
    // What a client calls curated is what it sends along with the next message.
    const remembered = chat.getHistory(true);
    expect(remembered[0]).toMatchObject({ role: "user", parts: [{ text: "Why is the sky blue?" }] });
    const said = remembered.slice(1).flatMap(({ parts = [] }) => parts.map(({ text = "" }) => text));
    expect(said.join("")).toBe(answer);

    let promptTokens = 0;
    for await (const { usageMetadata } of await chat.sendMessageStream({ message: "And at night?" }))
      promptTokens = usageMetadata?.promptTokenCount ?? promptTokens;
    expect(promptTokens).toBeGreaterThan(said.length);
    expect(chat.getHistory(true).at(-1)?.role).toBe("model");
  });

  const loops = Object.keys(vercelModels).flatMap((provider) =>
    models.map((model) => [provider as keyof typeof vercelModels, model] as const),
  );
  test.each(loops)("generateText and streamText of ai with @ai-sdk/%s, %s", async (provider, model) => {
    const { key } = await gateway.openAccount();
    const options = {
      model: vercelModels[provider](gateway.url, key)(model),
      prompt: asked,
      maxRetries: 0,
      stopWhen: stepCountIs(4),
      tools: {
        get_weather: tool({
          description: "Says what the weather is.",
          inputSchema: jsonSchema<{ city: string }>(citySchema),
          execute: async ({ city }) => `19 degrees in ${city}`,
        }),
      },
    };
    const whole = await generateText(options);
    expect(whole.steps).toHaveLength(2);
    expect(whole.text).toContain("19 degrees");
    const streamed = streamText(options);
    expect(await streamed.text).toBe(whole.text);
    expect((await streamed.totalUsage).outputTokens).toBe(whole.totalUsage.outputTokens);
  });

  test.each(models)("responses.stream of openai, turn by turn, %s", async (model) => {
    const { key } = await gateway.openAccount();
    const { responses } = createOpenAiClient(gateway.url, key);
    const tools = [{ type: "function" as const, name: "get_weather", parameters: citySchema, strict: true }];
    const thoughtful = thinks(model) ? { reasoning: { effort: "low", summary: "auto" } as const } : {};
    const input: ResponseInput = [{ role: "user", content: asked }];
    const first = await responses.stream({ model, input, tools, ...thoughtful }).finalResponse();
    const types = first.output.map(({ type }) => type);
    expect(types).toEqual(thinks(model) ? ["reasoning", "function_call"] : ["function_call"]);
    const call = first.output.find((item) => item.type === "function_call");
    expect(call?.parsed_arguments).toEqual({ city: expect.any(String) as string });

    input.push(...asInput(first.output));
    input.push({ type: "function_call_output", call_id: call?.call_id ?? "", output: "19 degrees" });
    const last = await responses.stream({ model, input, tools, ...thoughtful }).finalResponse();
    expect(last.output_text).toContain("19 degrees");

    input.push(...asInput(last.output), { role: "user", content: "And tomorrow?" });
    expect((await responses.create({ model, input, tools })).output_text).toContain("And tomorrow?");
  });

  test.each(models)(
    "what tools did is summed up without any of them, as Codex has it done, %s",
    async (model) => {
      const { key } = await gateway.openAccount();
      const { responses } = createOpenAiClient(gateway.url, key);
      const tools = [
        { type: "function" as const, name: "get_weather", parameters: citySchema, strict: true },
      ];
      const input: ResponseInput = [{ role: "user", content: asked }];
      const { output } = await responses.create({ model, input, tools });
      const [call] = output.filter((item) => item.type === "function_call");
      input.push(...asInput(output));
      input.push({ type: "function_call_output", call_id: call?.call_id ?? "", output: "19 degrees" });
      input.push({ role: "user", content: "Sum up what get_weather has said." });
      const summary = await responses.create({
        model,
        input,
        tool_choice: "auto",
        parallel_tool_calls: true,
      });
      expect(summary.output_text).toContain("Sum up");
    },
  );

  test.each(models)("a tool that openai gives a text, among the responses of %s", async (model) => {
    const { key } = await gateway.openAccount();
    const { responses } = createOpenAiClient(gateway.url, key);
    const format = { type: "grammar", syntax: "regex", definition: "[a-z0-9 ]+" } as const;
    const tools = [{ type: "custom" as const, name: "run_it", description: "Runs it.", format }];
    const input: ResponseInput = [{ role: "user", content: "Please run_it." }];
    const first = await responses.stream({ model, input, tools }).finalResponse();
    const [call] = first.output.filter((item) => item.type === "custom_tool_call");
    expect(call?.input).toMatch(/^[a-z0-9 ]+$/);
    input.push(...asInput(first.output));
    input.push({ type: "custom_tool_call_output", call_id: call?.call_id ?? "", output: "It ran." });
    expect((await responses.create({ model, input, tools })).output_text).toContain("It ran.");
  });

  test.each(models)("what responses.parse of openai has read goes back as it is, %s", async (model) => {
    const { key } = await gateway.openAccount();
    const { responses } = createOpenAiClient(gateway.url, key);
    const input: ResponseInput = [{ role: "user", content: "Name a city." }];
    const format = makeParseableTextFormat(
      { type: "json_schema", name: "answer", schema: citySchema, strict: true },
      (text) => JSON.parse(text) as { city: string },
    );
    const first = await responses.parse({ model, input, text: { format } });
    expect(first.output_parsed).toEqual({ city: expect.any(String) as string });
    input.push(...asInput(first.output), { role: "user", content: "Another." });
    const streamed = await responses.stream({ model, input, text: { format } }).finalResponse();
    expect(streamed.output_parsed).toEqual({ city: expect.any(String) as string });
  });

  test.each(models)(
    "the responses of @ai-sdk/openai that are not stored, with thoughts, %s",
    async (model) => {
      const { key } = await gateway.openAccount();
      const openai = { store: false, ...(thinks(model) ? thoughtfulOptions : {}) };
      const options = {
        model: vercelModels["openai, responses"](gateway.url, key)(model),
        maxRetries: 0,
        stopWhen: stepCountIs(4),
        providerOptions: { openai },
        tools: {
          get_weather: tool({
            description: "Says what the weather is.",
            inputSchema: jsonSchema<{ city: string }>(citySchema),
            execute: async ({ city }) => `19 degrees in ${city}`,
          }),
        },
      };
      const user = (content: string) => ({ role: "user" as const, content });
      const whole = await generateText({ ...options, messages: [user(asked)] });
      const streamed = streamText({ ...options, messages: [user(asked)] });
      expect(await streamed.text).toBe(whole.text);
      expect(whole.text).toContain("19 degrees");
      const thoughts = [whole.steps[0]?.reasoningText, (await streamed.steps)[0]?.reasoningText];
      expect(thoughts.every((thought) => thought !== undefined)).toBe(thinks(model));

      for (const { messages } of [whole.response, await streamed.response]) {
        const next = await generateText({
          ...options,
          messages: [user(asked), ...messages, user("And tomorrow?")],
        });
        expect(next.text).toContain("And tomorrow?");
      }
    },
  );

  test("generateText of ai with the responses of @ai-sdk/openai, which only names what it was told before", async () => {
    const { key } = await gateway.openAccount();
    const model = vercelModels["openai, responses"](gateway.url, key)("gpt-4o-mini");
    const user = (content: string) => ({ role: "user" as const, content });
    const first = await generateText({ model, maxRetries: 0, messages: [user("Name a city.")] });
    const messages = [user("Name a city."), ...first.response.messages, user("Another.")];
    const next = await generateText({ model, maxRetries: 0, messages });
    expect(JSON.stringify(next.request.body)).toContain("item_reference");
    expect(next.usage.inputTokens).toBeGreaterThan(first.usage.totalTokens ?? Infinity);
  });

  test.each(models.filter(thinks))(
    "the same client is told how to send what only OpenAI keeps, %s",
    async (name) => {
      const { key } = await gateway.openAccount();
      const model = vercelModels["openai, responses"](gateway.url, key)(name);
      const user = (content: string) => ({ role: "user" as const, content });
      const first = await generateText({ model, maxRetries: 0, messages: [user("Name a city.")] });
      const messages = [user("Name a city."), ...first.response.messages, user("Another.")];
      const refused = generateText({ model, maxRetries: 0, messages });
      expect(await refused.catch(String)).toContain(
        "with store set to false, clients send the items themselves",
      );
    },
  );

  test("responses of openai, each after the one before", async () => {
    const { key } = await gateway.openAccount();
    const { responses } = createOpenAiClient(gateway.url, key);
    const model = "gpt-4o-mini";
    const first = await responses.create({ model, input: "Name a city." });
    const next = await responses.create({ model, input: "Another.", previous_response_id: first.id });
    expect(next.previous_response_id).toBe(first.id);
    expect(next.usage?.input_tokens).toBeGreaterThan(first.usage?.total_tokens ?? Infinity);
  });
});

/** The one of OpenAI is a model that does not. */
const thinks = (model: Model): boolean => model !== "gpt-4o-mini";

/** This client takes every model that it does not know for one that does not think. */
const thoughtfulOptions = { forceReasoning: true, reasoningEffort: "low", reasoningSummary: "auto" };

/** Each item may go back as it came; but the types of what is answered and of what is sent were made apart. */
const asInput = (output: readonly ResponseOutputItem[]): ResponseInput => output as ResponseInput;
