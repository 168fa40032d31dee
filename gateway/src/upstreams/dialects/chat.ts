// A conversation with a model, in words of ours. Three vendors speak three dialects, and callers a fourth; each is read into
// this and written from it, so any dialect can be served by any vendor without a translation for each pair.

import type { WithheldRefusal } from "../../operation/withheld-refusal.ts";
import type { JsonObject } from "../../platform/json.ts";

export interface ChatRequest {
  readonly model: string;
  /** Instructions that stand before the conversation. */
  readonly system: readonly TextPart[];
  readonly messages: readonly (ChatMessage | AddedInstructions)[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | undefined;
  /** False when the model may call one tool at a time only; unwanted where that is a wish, which not every vendor can be told. */
  readonly parallelToolCalls: boolean | "unwanted" | undefined;
  readonly outputTokensMax: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  readonly stop: readonly string[];
  readonly seed: number | undefined;
  readonly frequencyPenalty: number | undefined;
  readonly presencePenalty: number | undefined;
  readonly output: OutputFormat | undefined;
  readonly reasoning: Reasoning | undefined;
  /** A wish, which not every vendor can be told. */
  readonly verbosity?: Verbosity | undefined;
  readonly endUser: string | undefined;
  readonly stream: boolean;
}

export type Verbosity = "low" | "medium" | "high";

/** Two neighbours may share a role; a dialect that forbids it merges them when it writes. */
export interface ChatMessage {
  readonly role: "user" | "assistant";
  readonly parts: readonly ChatPart[];
}

/**
 * Instructions that came later than the conversation began. They keep their place, for moved to its beginning they would
 * change the prompt from there on, and no vendor would find any of it in its cache. Who has no place for them gets them
 * there nevertheless (`instructionsFirst`).
 */
export interface AddedInstructions {
  readonly role: "system";
  readonly parts: readonly TextPart[];
}

export type ChatPart = TextPart | ImagePart | FilePart | ToolCallPart | ToolResultPart | ReasoningPart;

/** The words of a part, for whoever guesses at their tokens. Media and results have none of their own. */
export function textIn(part: ChatPart): string {
  if (part.kind === "text" || part.kind === "reasoning") return part.text;
  return part.kind === "tool_call" ? part.name + part.arguments : "";
}

/** What a caller may set to have the vendor cache the prompt up to its end, for five minutes or an hour. */
export interface Cacheable {
  readonly cache?: "5m" | "1h" | undefined;
}

export interface TextPart extends Cacheable {
  readonly kind: "text";
  readonly text: string;
}

export interface ImagePart extends Cacheable {
  readonly kind: "image";
  /** Either the bytes, in base64 with their type, or an address that the vendor fetches. */
  readonly source: { readonly mimeType: string; readonly base64: string } | { readonly url: string };
}

/** A document to be read. One of plain text is no file to us, but its text. */
export interface FilePart extends Cacheable {
  readonly kind: "file";
  readonly source: { readonly mimeType: string; readonly base64: string } | { readonly url: string };
  /** What the caller calls it. */
  readonly name: string | undefined;
}

export interface ToolCallPart {
  readonly kind: "tool_call";
  readonly id: string;
  readonly name: string;
  /** JSON text, as a model writes it; it need not be valid. */
  readonly arguments: string;
  /** An opaque token some vendors want back with the call in the next turn. */
  readonly signature?: string;
}

export interface ToolResultPart {
  readonly kind: "tool_result";
  readonly callId: string;
  /** The tool's name, where the dialect says it; otherwise found by the call's id. */
  readonly name: string | undefined;
  readonly content: readonly (TextPart | ImagePart | FilePart)[];
  /** In place of content: the names of tools that a search has found, which are said once it is known what they are called. */
  readonly found?: readonly string[];
  readonly isError: boolean;
}

/** The model's thinking. A redacted one has no text, only the vendor's opaque data. */
export interface ReasoningPart {
  readonly kind: "reasoning";
  readonly text: string;
  readonly signature?: string;
  readonly redacted?: string;
}

export interface ToolDefinition extends Cacheable {
  readonly name: string;
  readonly description: string | undefined;
  /** A JSON schema of the arguments. */
  readonly parameters: JsonObject;
  readonly strict: boolean | undefined;
}

export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

export type OutputFormat =
  | { readonly kind: "text" }
  | { readonly kind: "json" }
  | {
      readonly kind: "json_schema";
      readonly name: string;
      readonly schema: JsonObject;
      readonly strict: boolean | undefined;
    };

/** How much the model may think: an effort, a budget of tokens, or not at all. */
export type Reasoning =
  | { readonly effort: "minimal" | "low" | "medium" | "high" | "xhigh" | "max" }
  | { readonly budgetTokens: number }
  | "off";

export interface ChatAnswer {
  readonly id: string | undefined;
  readonly model: string | undefined;
  readonly parts: readonly ChatPart[];
  readonly stop: StopReason;
  readonly stopSequence: string | undefined;
  /** The vendor's word for why it stopped, where nobody here knows it. */
  readonly oddStop?: string;
  readonly usage: ChatUsage | undefined;
}

export type StopReason = "end" | "length" | "tool_calls" | "stop_sequence" | "filtered" | "refusal";

/** Disjoint: a cached token is not an input token. Reasoning is inside output. */
export interface ChatUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  readonly reasoning: number | undefined;
  /** How much of it was heard or spoken and not written; undefined when nothing was. */
  readonly audio?: AudioUsage | undefined;
}

interface AudioUsage {
  readonly input: number;
  readonly cacheRead: number;
  readonly output: number;
}

/** A streamed answer, piece by piece. `index` numbers the parts of the answer in the order they begin. */
export type ChatEvent =
  | { readonly kind: "start"; readonly id: string | undefined; readonly model: string | undefined }
  | { readonly kind: "text"; readonly index: number; readonly text: string }
  | {
      readonly kind: "reasoning";
      readonly index: number;
      readonly text: string;
      readonly signature?: string;
      readonly redacted?: string;
    }
  | {
      readonly kind: "tool_call";
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly signature?: string;
    }
  | { readonly kind: "tool_arguments"; readonly index: number; readonly text: string }
  /** An image comes whole: it is a part of its own. */
  | { readonly kind: "image"; readonly index: number; readonly source: ImagePart["source"] }
  /**
   * Sound, or whatever else no other dialect has words for: it is only paid for. What is said in it may be written beside
   * it, or come before the sound does.
   */
  | { readonly kind: "media"; readonly transcript: string; readonly hasBytes: boolean }
  /** No more of this part will come. */
  | {
      readonly kind: "part_end";
      readonly index: number;
      /** How many bytes the parts say together that have ended; undefined where all of them came piece by piece. */
      readonly saidBytes?: number;
      /** How many of them this part says; undefined where only all together are told. */
      readonly partBytes?: number;
    }
  /** What is known of usage so far; a later one replaces it. */
  | { readonly kind: "usage"; readonly usage: ChatUsage }
  | {
      readonly kind: "stop";
      readonly reason: StopReason;
      readonly stopSequence: string | undefined;
      /** The vendor's word for it, where nobody here knows it. */
      readonly odd?: string;
    }
  /** The vendor gave up in the middle of its answer. */
  | {
      readonly kind: "error";
      readonly type: string;
      readonly code?: string;
      readonly message: string;
      /** What it said of the operator's key or credit, which is withheld from the caller. */
      readonly refused?: WithheldRefusal;
    };

/** What a dialect tells of output that no other has words for, and that is not said in letters. */
export const unshown: ChatEvent = { kind: "media", transcript: "", hasBytes: true };
