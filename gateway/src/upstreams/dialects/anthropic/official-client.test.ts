// What we write, as Anthropic's own client understands it.

import { expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import type { Message } from "@anthropic-ai/sdk/resources/messages";
import type { ChatAnswer, ChatEvent } from "../chat.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { context, plainAnswer } from "./test-chat-samples.ts";

const ask = { model: "m", max_tokens: 10, messages: [{ role: "user" as const, content: "Hello" }] };

const clientThatGets = (body: string, type: string): Anthropic =>
  new Anthropic({
    apiKey: "k",
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(body, { headers: { "content-type": type } })),
  });

function streamed(events: readonly ChatEvent[]): Promise<Message> {
  const writer = anthropicDialect.createEventWriter(context);
  const written = [...events.flatMap((event) => writer.write(event)), ...writer.end()];
  const body = written.map(({ event, data }) => `event: ${event}\ndata: ${data}\n\n`).join("");
  return clientThatGets(body, "text/event-stream").messages.stream(ask).finalMessage();
}

const usage = { input: 10, output: 5, cacheRead: 2, cacheWrite: 3, cacheWrite1h: 0, reasoning: 4 };
const answer: ChatAnswer = {
  ...plainAnswer,
  parts: [
    { kind: "reasoning", text: "Hm", signature: "sig" },
    { kind: "text", text: "Hi" },
    { kind: "tool_call", id: "call_1", name: "f", arguments: '{"a":1}', signature: "theirs" },
    { kind: "tool_call", id: "call_2", name: "g", arguments: "" },
  ],
  stop: "tool_calls",
  usage,
};
const content: ChatEvent[] = [
  { kind: "reasoning", index: 0, text: "Hm" },
  { kind: "reasoning", index: 0, text: "", signature: "sig" },
  { kind: "text", index: 1, text: "H" },
  { kind: "text", index: 1, text: "i" },
  { kind: "tool_call", index: 2, id: "call_1", name: "f", signature: "theirs" },
  { kind: "tool_call", index: 3, id: "call_2", name: "g" },
  { kind: "tool_arguments", index: 2, text: '{"a"' },
  { kind: "tool_arguments", index: 2, text: ":1}" },
];

test("the official client gathers from the stream the message that the JSON is, signature and figures included", async () => {
  const json = JSON.stringify(anthropicDialect.writeAnswer(answer, context));
  const whole = await clientThatGets(json, "application/json").messages.create(ask);
  const gathered = await streamed([
    { kind: "start", id: answer.id, model: "m" },
    ...content,
    { kind: "stop", reason: "tool_calls", stopSequence: undefined },
    { kind: "usage", usage },
  ]);
  expect(gathered.content).toEqual(whole.content);
  expect(gathered.stop_reason).toBe("tool_use");
  // The client takes the split of cache writes from message_start alone.
  expect({ ...gathered.usage, cache_creation: null }).toEqual({ ...whole.usage, cache_creation: null });
});

test("the official client throws when the answer broke off or failed", async () => {
  expect(await failureOf(content)).toContain("broke off before its end");
  const failed: ChatEvent = { kind: "error", type: "overloaded_error", message: "Overloaded" };
  expect(await failureOf([...content, failed])).toContain("Overloaded");
});

const failureOf = (events: readonly ChatEvent[]): Promise<string> =>
  streamed(events).then(
    () => "none",
    (error: unknown) => String(error),
  );
