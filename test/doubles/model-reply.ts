// What a model says, in words that are no vendor's; each double says it in its own dialect.

import { countTokens } from "./ranking.ts";

export interface ScriptedReply {
  readonly text?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Shown where the dialect shows it and the request asks for it; its tokens are billed anyway. */
  readonly reasoning?: string;
  /** Default: `tool_calls` with calls, else `end`. */
  readonly stop?: StopKind;
  /** Into how many fragments a stream cuts each text, reasoning and arguments; by default a word is one. */
  readonly pieces?: number;
  /** Fragments of parallel calls take turns, which only OpenAI's dialect can say. */
  readonly interleaved?: boolean;
}

interface ScriptedToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model writes it; only OpenAI's dialect can say one that is not JSON. */
  readonly arguments: string;
}

export type StopKind = "end" | "length" | "tool_calls" | "filtered";

/** A fragment of a stream. */
interface Piece {
  readonly text: string;
  readonly tokens: number;
}

/** A reply within the limits of its request. */
export interface Reply {
  readonly text: string;
  readonly textPieces: readonly Piece[];
  readonly reasoning: string;
  readonly reasoningPieces: readonly Piece[];
  readonly toolCalls: readonly (ScriptedToolCall & { readonly pieces: readonly Piece[] })[];
  readonly interleaved: boolean;
  readonly stop: StopKind;
  /** The stop sequence that ended the text. */
  readonly stopSequence: string | null;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export const defaultReply = "The quick brown fox jumps over the lazy dog.";

/** One word is one token here, so that a limit cuts where a reader expects it. */
export function planReply(
  scripted: string | ScriptedReply,
  { maxOutputTokens, stop }: { readonly maxOutputTokens: number | null; readonly stop: readonly string[] },
): Reply {
  const asked = typeof scripted === "string" ? { text: scripted } : scripted;
  const { pieces, reasoning = "", interleaved = false } = asked;
  const reasoningTokens = wordsOf(reasoning).length;

  const stopped = cutAtStop(asked.text ?? "", stop);
  const words = wordsOf(stopped.text);
  const room = Math.max(0, (maxOutputTokens ?? Infinity) - reasoningTokens);
  const isCut = words.length > room;
  const text = words.slice(0, room).join("");
  // A model that ran out of tokens in its text never came to its calls.
  const calls = isCut || stopped.sequence !== null ? [] : (asked.toolCalls ?? []);
  const argumentTokens = calls.reduce((sum, call) => sum + countTokens(call.arguments), 0);
  return {
    text,
    textPieces: piecesOf(text, pieces),
    reasoning,
    reasoningPieces: piecesOf(reasoning, pieces),
    toolCalls: calls.map((call) => ({
      ...call,
      pieces: weigh(splitInto(call.arguments, pieces ?? argumentPieces), countTokens(call.arguments)),
    })),
    interleaved,
    stop: isCut ? "length" : (asked.stop ?? (calls.length > 0 ? "tool_calls" : "end")),
    stopSequence: isCut ? null : stopped.sequence,
    outputTokens: reasoningTokens + Math.min(words.length, room) + argumentTokens,
    reasoningTokens,
  };
}

const argumentPieces = 3;

const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+(\s+$)?/g) ?? [];

const piecesOf = (text: string, pieces: number | undefined): readonly Piece[] =>
  weigh(pieces === undefined ? wordsOf(text) : splitInto(text, pieces), wordsOf(text).length);

const weigh = (texts: readonly string[], tokens: number): readonly Piece[] =>
  texts.map((text) => ({ text, tokens: tokens / texts.length }));

function cutAtStop(
  text: string,
  stop: readonly string[],
): { readonly text: string; readonly sequence: string | null } {
  const found = stop
    .map((sequence) => ({ sequence, at: text.indexOf(sequence) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)[0];
  return found ? { text: text.slice(0, found.at), sequence: found.sequence } : { text, sequence: null };
}

/** By characters, never inside one: vendors send whole ones. */
function splitInto(text: string, pieces: number): readonly string[] {
  const characters = Array.from(text);
  const size = Math.max(1, Math.ceil(characters.length / pieces));
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(""),
  );
}
