// Instructions that are added as a conversation goes on change nothing of the prompt before them, where a vendor takes them
// in their place: whatever it was sent once, it finds in its cache.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { objectsIn, type JsonObject } from "../../platform/json.ts";
import { anthropicDialect } from "./anthropic/anthropic-dialect.ts";
import type { ChatRequest } from "./chat.ts";
import { geminiDialect } from "./gemini/gemini-dialect.ts";
import { openaiDialect } from "./openai/openai-dialect.ts";
import { bareRequest } from "./test-requests.ts";

type Message = ChatRequest["messages"][number];

const text = (said: string) => ({ kind: "text", text: said }) as const;
const user: fc.Arbitrary<Message> = fc.constant({ role: "user", parts: [text("u")] });
const added: fc.Arbitrary<Message> = fc.constant({ role: "system", parts: [text("s")] });
const between = (...some: readonly fc.Arbitrary<Message>[]) => fc.array(fc.oneof(...some), { maxLength: 3 });

/** A turn of the model's with what answers it; two of them may call under the same ids. */
const turn: fc.Arbitrary<readonly Message[]> = fc
  .tuple(
    fc.subarray(["call_1", "call_2", "call_3"]),
    fc.array(between(added), { minLength: 4, maxLength: 4 }),
    between(user, added),
    between(added),
  )
  .map(([ids, gaps, before, behind]) => [
    { role: "assistant", parts: [text("a"), ...ids.map(callOf)] },
    ...(gaps[3] ?? []),
    ...ids.flatMap((id, at): readonly Message[] => [
      { role: "user", parts: [resultOf(id)] },
      ...(gaps[at] ?? []),
    ]),
    ...before,
    { role: "user", parts: [text("u")] },
    ...behind,
  ]);

const callOf = (id: string) => ({ kind: "tool_call", id, name: "f", arguments: "{}" }) as const;
const resultOf = (callId: string) =>
  ({ kind: "tool_result", callId, name: "f", content: [text("r")], isError: false }) as const;

const conversation = fc
  .tuple(between(added), fc.array(turn, { minLength: 1, maxLength: 4 }))
  .map(([first, turns]): readonly Message[] => [
    { role: "user", parts: [text("u")] },
    ...first,
    ...turns.flat(),
  ]);

/** What was sent each time that the model was asked, and in the end. */
const requestsFor = (messages: readonly Message[], write: (request: ChatRequest) => JsonObject) =>
  [...messages.keys(), messages.length]
    .filter((at) => at > 0 && (messages[at]?.role ?? "assistant") === "assistant")
    .map((at) => write({ ...bareRequest, system: [text("first")], messages: messages.slice(0, at) }));

function expectGrowth(sent: readonly JsonObject[]): void {
  for (const [at, { system, messages }] of sent.entries()) {
    const before = sent[at - 1];
    if (before === undefined) continue;
    const known = objectsIn(before["messages"]);
    expect(objectsIn(messages).slice(0, known.length)).toEqual([...known]);
    expect(system).toEqual(before["system"]);
  }
}

const addedIn = (messages: readonly Message[]): number =>
  messages.filter(({ role }) => role === "system").length;
const rolesIn = ({ messages }: JsonObject): readonly unknown[] => objectsIn(messages).map(({ role }) => role);

test("at OpenAI itself a conversation only grows, and nothing stands between calls and their results", () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const sent = requestsFor(messages, (request) =>
        openaiDialect.writeRequest(request, { takesInstructionsAnywhere: true }),
      );
      expectGrowth(sent);
      const roles = rolesIn(sent.at(-1) ?? {});
      for (const [at, role] of roles.entries())
        if (role === "tool") expect(["assistant", "tool"]).toContain(roles[at - 1] as string);
      expect(roles.filter((role) => role === "system")).toHaveLength(addedIn(messages) + 1);
    }),
  );
});

test("at Anthropic it only grows, and instructions stand between a user's turn and the model's", () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const sent = requestsFor(messages, (request) =>
        anthropicDialect.writeRequest({ ...request, model: "claude-opus-4-8" }),
      );
      expectGrowth(sent);
      const last = sent.at(-1) ?? {};
      const roles = rolesIn(last);
      for (const [at, role] of roles.entries()) {
        if (role !== "system") continue;
        expect(roles[at - 1]).toBe("user");
        expect([undefined, "assistant"]).toContain(roles[at + 1] as string | undefined);
      }
      const told = objectsIn(last["messages"]).filter(({ role }) => role === "system");
      expect(told.flatMap(({ content }) => objectsIn(content))).toHaveLength(addedIn(messages));
    }),
  );
});

test("who knows instructions at the beginning alone is told all of them there, in their order", () => {
  const texts = ["a", "b", "c"].map(text);
  const messages: readonly Message[] = [
    { role: "user", parts: [text("u")] },
    { role: "system", parts: texts.slice(0, 1) },
    { role: "assistant", parts: [text("v")] },
    { role: "system", parts: texts.slice(1) },
    { role: "user", parts: [text("w")] },
  ];
  const request: ChatRequest = { ...bareRequest, system: [text("first")], messages };
  const all = ["first", "a", "b", "c"];
  expect(objectsIn(openaiDialect.writeRequest(request)["messages"])).toEqual([
    { role: "system", content: all.join("\n\n") },
    { role: "user", content: "u" },
    { role: "assistant", content: "v" },
    { role: "user", content: "w" },
  ]);
  const mistral = openaiDialect.writeRequest(
    { ...request, model: "mistral-large" },
    { takesInstructionsAnywhere: true },
  );
  expect(rolesIn(mistral)).toEqual(["system", "user", "assistant", "user"]);
  const { systemInstruction, contents } = geminiDialect.writeRequest(request);
  expect(systemInstruction).toEqual({ parts: all.map((told) => ({ text: told })) });
  expect(objectsIn(contents).map(({ role }) => role)).toEqual(["user", "model", "user"]);
});
