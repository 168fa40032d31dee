// An answer as a response: its items in the order in which they begin, and the events that tell of them.

import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent, ChatUsage } from "../chat.ts";
import { brokenOff } from "../cut-short.ts";
import type { DeclaredTool, WriteContext } from "../dialect.ts";
import { markdownImage } from "../markdown-image.ts";
import { writeDrawing, writeSignature } from "./items.ts";
import { OpenCall, OpenMessage, OpenThought, type OpenItem, type Place, type Step } from "./open-items.ts";
import { incompleteBecause, writeResponse } from "./response.ts";
import { writeError } from "./write-error.ts";

type EventOf<Kind extends ChatEvent["kind"]> = Extract<ChatEvent, { readonly kind: Kind }>;

/** Of the ids of its items. */
const callPrefixes: Readonly<Record<DeclaredTool["type"], string>> = {
  function: "fc",
  custom: "ctc",
  tool_search: "tsc",
};

export class ResponseWriter {
  readonly #context: WriteContext;
  /** Undefined where an item has not ended. */
  readonly #output: (JsonObject | undefined)[] = [];
  /** By the number of the part. */
  readonly #open = new Map<number, OpenItem>();
  /** The part that ended last, as far as anybody knows whole: why the answer stopped is told behind it. */
  #ended: number | undefined;
  #begun = false;
  #failed = false;
  #usage: ChatUsage | undefined;
  #stopped: EventOf<"stop"> | undefined;

  constructor(context: WriteContext) {
    this.#context = context;
  }

  write(event: ChatEvent): readonly Step[] {
    if (this.#failed) return [];
    switch (event.kind) {
      case "media":
        return [];
      case "usage":
        this.#usage = event.usage;
        return [];
      case "stop":
        this.#stopped = event;
        return [...this.#begin(), ...this.#closeAll(incompleteBecause(event.reason))];
      case "error":
        return this.#fail(event);
      case "part_end": {
        const closed = this.#closeEnded();
        this.#ended = event.index;
        return closed;
      }
      default:
        return [...this.#begin(), ...this.#closeEnded(), ...this.#put(event)];
    }
  }

  end(): readonly Step[] {
    if (this.#failed) return [];
    if (this.#stopped === undefined) return this.#fail({ type: "server_error", ...brokenOff });
    // Some vendors go on after they have said why they stop.
    const closed = this.#closeAll(incompleteBecause(this.#stopped.reason));
    const { response } = this;
    return [...closed, [`response.${String(response["status"])}`, { response }]];
  }

  /** As it stands when all was said. */
  get response(): JsonObject {
    const incomplete = this.#stopped && incompleteBecause(this.#stopped.reason);
    const status = incomplete === undefined ? "completed" : "incomplete";
    return writeResponse(this.#context, { status, incomplete, output: this.#written, usage: this.#usage });
  }

  get #written(): readonly JsonObject[] {
    return this.#output.filter((item) => item !== undefined);
  }

  #begin(): readonly Step[] {
    if (this.#begun) return [];
    this.#begun = true;
    const response = writeResponse(this.#context, { status: "in_progress", output: [] });
    return [
      ["response.created", { response }],
      ["response.in_progress", { response }],
    ];
  }

  #put(event: ChatEvent): readonly Step[] {
    switch (event.kind) {
      case "text":
        return event.text === "" ? [] : this.#say(event.index, event.text);
      case "reasoning":
        return this.#think(event);
      case "tool_call":
        return this.#call(event);
      case "tool_arguments": {
        const item = this.#open.get(event.index);
        return item instanceof OpenCall ? item.add(event.text) : [];
      }
      case "image":
        return this.#show(event);
      default:
        return [];
    }
  }

  #say(part: number, text: string): readonly Step[] {
    const open = this.#open.get(part);
    if (open instanceof OpenMessage) return [open.say(text)];
    const message = new OpenMessage(this.#nextPlace("msg"));
    return [...this.#openItem(part, message), message.say(text)];
  }

  #think(event: EventOf<"reasoning">): readonly Step[] {
    const { index, text, signature, redacted } = event;
    if (text === "" && signature === undefined && redacted === undefined) return [];
    const open = this.#open.get(index);
    if (open instanceof OpenThought) return open.think(event);
    const thought = new OpenThought(this.#nextPlace("rs"), this.#context.askedAgain?.showsSummaries === true);
    return [...this.#openItem(index, thought), ...thought.think(event)];
  }

  #call(event: EventOf<"tool_call">): readonly Step[] {
    const signed = event.signature === undefined ? [] : this.#sign(event.signature);
    const tool = this.#context.askedAgain?.tools.get(event.name);
    const place = this.#nextPlace(callPrefixes[tool?.type ?? "function"]);
    return [...signed, ...this.#openItem(event.index, new OpenCall(place, event, tool))];
  }

  #sign(signature: string): readonly Step[] {
    const { id, at } = this.#nextPlace("rs");
    return this.#addWhole(at, writeSignature(id, signature));
  }

  #show({ index, source }: EventOf<"image">): readonly Step[] {
    if ("url" in source) return this.#say(index, markdownImage({ source }));
    const { id, at } = this.#nextPlace("ig");
    return this.#addWhole(at, writeDrawing(id, source));
  }

  #nextPlace(prefix: string): Place {
    const at = this.#output.length;
    this.#output.push(undefined);
    return { id: `${prefix}_${this.#context.id}_${at}`, at };
  }

  #openItem(part: number, item: OpenItem): readonly Step[] {
    const closed = this.#close(part, "completed");
    this.#open.set(part, item);
    return [...closed, ...item.begin()];
  }

  #addWhole(at: number, item: JsonObject): readonly Step[] {
    this.#output[at] = item;
    return [
      ["response.output_item.added", { output_index: at, item }],
      ["response.output_item.done", { output_index: at, item }],
    ];
  }

  #closeEnded(): readonly Step[] {
    const part = this.#ended;
    if (part === undefined) return [];
    this.#ended = undefined;
    return this.#close(part, "completed");
  }

  /** What was cut short is the newest item. */
  #closeAll(incomplete: string | undefined): readonly Step[] {
    this.#ended = undefined;
    const newest = this.#output.length - 1;
    return [...this.#open].flatMap(([part, { at }]) =>
      this.#close(part, incomplete !== undefined && at === newest ? "incomplete" : "completed"),
    );
  }

  #close(part: number, status: "completed" | "incomplete"): readonly Step[] {
    const item = this.#open.get(part);
    if (item === undefined) return [];
    this.#open.delete(part);
    const finished = item.finish();
    const written = item.write(status);
    this.#output[item.at] = written;
    return [...finished, ["response.output_item.done", { output_index: item.at, item: written }]];
  }

  /** Official clients throw at the first of these, and agents read the second only. */
  #fail(error: Pick<EventOf<"error">, "type" | "code" | "message">): readonly Step[] {
    const begun = this.#begin();
    this.#failed = true;
    const { message } = error;
    // OpenAI has few words for it; at this one agents look in the message how long to wait.
    const code = error.code === "rate_limit_exceeded" ? error.code : "server_error";
    const response = writeResponse(this.#context, {
      status: "failed",
      output: this.#written,
      usage: this.#usage,
      error: { code, message },
    });
    return [...begun, ["error", writeError(error)], ["response.failed", { response }]];
  }
}
