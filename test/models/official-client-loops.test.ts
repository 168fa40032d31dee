// The loops of tools that the official clients run by themselves, with the models of all three vendors.

import { describe, expect, test } from "bun:test";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { createAnthropicClient } from "../streams/anthropic-client.ts";
import { createGoogleClient } from "../streams/google-client.ts";
import { citySchema } from "../streams/official-client.ts";
import { createOpenAiClient } from "../streams/openai-client.ts";
import { vercelModels } from "../streams/vercel-client.ts";
import { models, useOfficialClients } from "./official-clients.ts";

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

  test("generateText of ai with the responses of @ai-sdk/openai, which only names what it was told before", async () => {
    const { key } = await gateway.openAccount();
    const model = createOpenAI({ apiKey: key, baseURL: `${gateway.url}/v1` }).responses("gpt-4o-mini");
    const user = (content: string) => ({ role: "user" as const, content });
    const first = await generateText({ model, maxRetries: 0, messages: [user("Name a city.")] });
    const messages = [user("Name a city."), ...first.response.messages, user("Another.")];
    const next = await generateText({ model, maxRetries: 0, messages });
    expect(JSON.stringify(next.request.body)).toContain("item_reference");
    expect(next.usage.inputTokens).toBeGreaterThan(first.usage.totalTokens ?? Infinity);
  });

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
