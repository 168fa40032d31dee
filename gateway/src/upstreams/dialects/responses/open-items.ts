// An item of an answer between its beginning and its end, and the events in which it grows.

import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent } from "../chat.ts";
import type { DeclaredTool } from "../dialect.ts";
import { searchType } from "./tool-search.ts";
import { writeCall, writeMessage, writeSummary, writeText, writeThought, type ItemStatus } from "./items.ts";

/** One event, before it is numbered. */
export type Step = readonly [type: string, members: JsonObject];

export interface Place {
  readonly id: string;
  /** Which item of the answer it is. */
  readonly at: number;
}

export abstract class OpenItem {
  protected readonly place: Place;
  protected text = "";

  constructor(place: Place) {
    this.place = place;
  }

  get at(): number {
    return this.place.at;
  }

  /** What every event about a piece of it says. */
  protected get where(): JsonObject {
    return { item_id: this.place.id, output_index: this.at };
  }

  abstract begin(): readonly Step[];
  /** What comes before its last event. */
  abstract finish(): readonly Step[];
  abstract write(status: ItemStatus): JsonObject;
}

export class OpenMessage extends OpenItem {
  begin(): readonly Step[] {
    const item = { ...this.write("in_progress"), content: [] };
    return [
      ["response.output_item.added", { output_index: this.at, item }],
      ["response.content_part.added", { ...this.inContent, part: writeText("") }],
    ];
  }

  say(text: string): Step {
    this.text += text;
    return ["response.output_text.delta", { ...this.inContent, delta: text, logprobs: [] }];
  }

  finish(): readonly Step[] {
    return [
      ["response.output_text.done", { ...this.inContent, text: this.text, logprobs: [] }],
      ["response.content_part.done", { ...this.inContent, part: writeText(this.text) }],
    ];
  }

  write(status: ItemStatus): JsonObject {
    return writeMessage(this.place.id, this.text, status);
  }

  private get inContent(): JsonObject {
    return { ...this.where, content_index: 0 };
  }
}

type ThoughtEvent = Extract<ChatEvent, { readonly kind: "reasoning" }>;

export class OpenThought extends OpenItem {
  readonly #showsSummary: boolean;
  #signature: string | undefined;
  #redacted: string | undefined;

  constructor(place: Place, showsSummary: boolean) {
    super(place);
    this.#showsSummary = showsSummary;
  }

  begin(): readonly Step[] {
    const item = { id: this.place.id, type: "reasoning", summary: [] };
    return [["response.output_item.added", { output_index: this.at, item }]];
  }

  think({ text, signature, redacted }: ThoughtEvent): readonly Step[] {
    this.#signature = signature ?? this.#signature;
    this.#redacted = redacted ?? this.#redacted;
    const isFirst = this.text === "";
    this.text += text;
    if (text === "" || !this.#showsSummary) return [];
    return [
      ...(isFirst
        ? [["response.reasoning_summary_part.added", { ...this.inSummary, part: writeSummary("") }] as const]
        : []),
      ["response.reasoning_summary_text.delta", { ...this.inSummary, delta: text }],
    ];
  }

  finish(): readonly Step[] {
    if (this.text === "" || !this.#showsSummary) return [];
    return [
      ["response.reasoning_summary_text.done", { ...this.inSummary, text: this.text }],
      ["response.reasoning_summary_part.done", { ...this.inSummary, part: writeSummary(this.text) }],
    ];
  }

  write(): JsonObject {
    const thought = {
      text: this.text,
      ...(this.#signature === undefined ? {} : { signature: this.#signature }),
      ...(this.#redacted === undefined ? {} : { redacted: this.#redacted }),
    };
    return writeThought(this.place.id, thought, this.#showsSummary);
  }

  private get inSummary(): JsonObject {
    return { ...this.where, summary_index: 0 };
  }
}

type CallEvent = Extract<ChatEvent, { readonly kind: "tool_call" }>;

export class OpenCall extends OpenItem {
  readonly #call: CallEvent;
  readonly #tool: DeclaredTool | undefined;

  constructor(place: Place, call: CallEvent, tool: DeclaredTool | undefined) {
    super(place);
    this.#call = call;
    this.#tool = tool;
  }

  begin(): readonly Step[] {
    const item = { ...this.write("in_progress"), ...this.#nothingGiven };
    return [["response.output_item.added", { output_index: this.at, item }]];
  }

  /** A text comes inside of JSON, and can be told only when that is whole, as can what is searched for. */
  add(text: string): readonly Step[] {
    this.text += text;
    if (text === "" || this.#isOfText || this.#isSearch) return [];
    return [["response.function_call_arguments.delta", { ...this.where, delta: text }]];
  }

  finish(): readonly Step[] {
    if (this.#isSearch) return [];
    // Clients parse what a tool is given, and some vendors write nothing where there is nothing to give.
    const unsaid = this.text === "" ? this.add("{}") : [];
    const { input, arguments: text, name } = this.write("completed");
    if (!this.#isOfText) {
      return [...unsaid, ["response.function_call_arguments.done", { ...this.where, name, arguments: text }]];
    }
    return [
      ["response.custom_tool_call_input.delta", { ...this.where, delta: input }],
      ["response.custom_tool_call_input.done", { ...this.where, input }],
    ];
  }

  write(status: ItemStatus): JsonObject {
    return writeCall(this.place.id, { ...this.#call, arguments: this.text }, this.#tool, status);
  }

  get #nothingGiven(): JsonObject {
    if (this.#isSearch) return { arguments: {} };
    return this.#isOfText ? { input: "" } : { arguments: "" };
  }

  get #isOfText(): boolean {
    return this.#tool?.type === "custom";
  }

  get #isSearch(): boolean {
    return this.#tool?.type === searchType;
  }
}
