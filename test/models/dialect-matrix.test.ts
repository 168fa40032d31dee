// Every dialect a caller may speak, in front of every vendor: the same conversation means the same to the vendor,
// the same answer reaches the caller, and the same money moves.

import { describe, expect, test } from "bun:test";
import { hear, nameOf, png, schema, useDialects, ways, type Way } from "./dialect-ways.ts";
import type { Asked } from "../doubles/asked.ts";
import type { ScriptedReply } from "../doubles/model-reply.ts";
import type { ScriptedUsage } from "../doubles/token-usage.ts";
import { budgetTokens, type Heard, type Talk } from "../streams/dialects/talk.ts";
import { dialects, type SpokenName } from "../streams/dialects.ts";
import { expectChargeOf, lastInBook, lastReceipt, models, usageInBook } from "../streams/model-vendors.ts";

const { vendors, gateway, ask } = await useDialects();

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
    const sayable = ways.filter(({ spoken }) => spoken !== "responses" || !conversation.talk.stop);
    test.each(sayable.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
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
  const shown: Readonly<Record<SpokenName, string>> = {
    openai: JSON.stringify({ images: [{ type: "image_url", image_url: { url } }] }),
    anthropic: JSON.stringify({ type: "text_delta", text: `![image](${url})` }),
    gemini: JSON.stringify({ parts: [{ inlineData }] }).slice(1),
    responses: JSON.stringify({ result: base64, output_format: "png" }).slice(1),
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
