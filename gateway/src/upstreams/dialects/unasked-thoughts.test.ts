import { expect, test } from "bun:test";
import type { ChatPart } from "./chat.ts";
import { createThoughtSieve } from "./unasked-thoughts.ts";

const thought = { kind: "reasoning", text: "Hm." } as const;
const signed = { kind: "reasoning", text: "", signature: "sig" } as const;
const sealed = { kind: "reasoning", text: "", redacted: "data" } as const;
const text = { kind: "text", text: "Paris" } as const;
const call = { kind: "tool_call", id: "1", name: "f", arguments: "{}" } as const;

const shown = (mayCall: boolean, ...parts: readonly ChatPart[]): readonly ChatPart[] =>
  parts.flatMap(createThoughtSieve<ChatPart>({ mayCall }));

test("an answer without calls is shown without thoughts, signed or not", () => {
  for (const each of [thought, signed, sealed]) expect(shown(false, each, text)).toEqual([text]);
  expect(shown(true, thought, text)).toEqual([text]);
});

test("a thought before a call is kept, for it may be wanted back with the result", () => {
  for (const each of [thought, signed, sealed]) expect(shown(true, each, call)).toEqual([each, call]);
});

test("with text between, what is signed keeps its place and the rest waits for the call", () => {
  expect(shown(true, signed, text, call)).toEqual([signed, text, call]);
  expect(shown(true, sealed, text, call)).toEqual([sealed, text, call]);
  expect(shown(true, thought, text, call, call)).toEqual([text, thought, call, call]);
});
