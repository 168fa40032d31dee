import type { CallersDialect } from "../../platform/dialect.ts";
import type { JsonObject } from "../../platform/json.ts";
import { shortened } from "../../platform/shortened.ts";
import type { ChatAnswer, ChatEvent, ChatRequest, ChatUsage } from "./chat.ts";

/** One event of a server-sent stream. `event` is undefined where the dialect does not name its events. */
export interface SseEvent {
  readonly event: string | undefined;
  readonly data: string;
}

/** What a writer needs to know that is not in the conversation. */
export interface WriteContext {
  /** An id for the answer, where the vendor gave none that fits the dialect. */
  readonly id: string;
  readonly model: string;
  readonly createdSeconds: number;
  /** True when the caller asked to see usage in the stream (only the OpenAI dialect asks). */
  readonly includeUsage: boolean;
  /** Which of several choices this is; the first where it is not said. */
  readonly choice?: number;
  /** Figures that no vendor stated are left out, also where clients look for them: whoever reads the stream is to pay by it. */
  readonly onlyStated?: true;
  /** What the answer says of its request, in a dialect whose answers do. */
  readonly askedAgain?: AskedAgain | undefined;
}

/** A part of a request that outlives it, for streams last long and requests are large. */
export interface AskedAgain {
  readonly members: JsonObject;
  /** Tools that are called otherwise than their vendor is told, by the names that it knows. */
  readonly tools: ReadonlyMap<string, DeclaredTool>;
  readonly showsSummaries: boolean;
}

/** A tool as its caller declared it. */
export interface DeclaredTool {
  readonly type: "function" | "custom" | "tool_search";
  readonly name: string;
  readonly namespace: string | undefined;
}

/** What a writer of requests needs to know of the vendor that the name of the model does not say. */
export interface Hearer {
  /** Whether instructions may stand behind the first word of the conversation. */
  readonly takesInstructionsAnywhere: boolean;
}

/**
 * How callers speak one dialect. Everything is pure; nothing here speaks to anybody.
 *
 * Reading a request throws Inexpressible for a member that has no place in ours and would change the answer's
 * meaning or cost if dropped; what is harmless (labels, metadata) is dropped.
 */
export interface SpokenDialect {
  readonly name: CallersDialect;
  readonly readRequest: (
    body: JsonObject,
    asked: { readonly model: string; readonly stream: boolean },
  ) => ChatRequest;
  /** What the caller's tools are called. Never throws: who answers takes them as they come. */
  readonly namesOfTools: (body: JsonObject) => readonly string[];
  /** Whether the caller asked to be shown what the model thinks, where that stands among the parts of the answer. */
  readonly asksForThoughts: (body: JsonObject) => boolean;
  readonly saidAgain?: (body: JsonObject) => AskedAgain;
  readonly writeAnswer: (answer: ChatAnswer, context: WriteContext) => JsonObject;
  /** A fresh writer for one stream: hand it each event, send what it says. */
  readonly createEventWriter: (context: WriteContext) => EventWriter;
}

/**
 * One that vendors speak, too. Writing a request throws Inexpressible for what this dialect cannot say. Reading an answer or
 * an event never throws: vendors are taken as they come.
 */
export interface Dialect extends SpokenDialect {
  /** The names of tools that all vendors who speak it take. */
  readonly takenToolNames: RegExp;
  readonly writeRequest: (request: ChatRequest, hearer?: Hearer) => JsonObject;
  readonly readAnswer: (json: unknown) => ChatAnswer;
  /** The usage report of an answer alone, for whoever only has to pay for it. */
  readonly readUsage: (reported: unknown) => ChatUsage | undefined;
  /** A fresh reader for one stream: hand it each event, collect what it means. */
  readonly createEventReader: () => EventReader;
}

export interface EventReader {
  (event: SseEvent): readonly ChatEvent[];
  /** What it means that the stream ended in good order, where no event said that the answer had. */
  readonly end?: () => readonly ChatEvent[];
}

export interface EventWriter {
  readonly write: (event: ChatEvent) => readonly SseEvent[];
  /** Called once, last. */
  readonly end: () => readonly SseEvent[];
}

/** Something the other side cannot be told. `field` names it as the caller wrote it; writers, as OpenAI's callers do. */
export class Inexpressible extends Error {
  readonly field: string;
  readonly why: string;
  /** What the clients of the caller's dialect have to read to go on without it. */
  readonly details: JsonObject | undefined;

  constructor(field: string, why: string, details?: JsonObject) {
    const told = { field: shortened(field), why: shortened(why) };
    super(`${told.field}: ${told.why}`);
    this.name = "Inexpressible";
    this.field = told.field;
    this.why = told.why;
    this.details = details;
  }
}
