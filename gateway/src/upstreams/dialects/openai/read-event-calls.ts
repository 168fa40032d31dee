// Calls of tools inside a stream: the first piece of each brings id and name, later ones its arguments.

import type { JsonObject } from "../../../platform/json.ts";
import { unshown, type ChatEvent } from "../chat.ts";
import { readCalled, textOf } from "./answer-members.ts";
import { JsonExtent } from "./json-extent.ts";
import { madeCallId, readSignature } from "./tool-calls.ts";

interface Call {
  /** Which one it is among the calls. */
  readonly at: number;
  /** Empty until the vendor gives one, or the call is told without. */
  id: string;
  /** How far the arguments of a call have come whose vendor gives no ids; undefined for any other. */
  readonly extent: JsonExtent | undefined;
  name: string;
  signature: { readonly signature?: string };
  /** Undefined until the name is known; arguments that come earlier wait. */
  index: number | undefined;
  waiting: string;
}

/** The choice that the calls are part of. */
export interface CallingChoice {
  readonly answerId: string;
  readonly tell: (event: ChatEvent) => void;
  /** Begins a part of the answer and gives its number. */
  readonly begin: () => number;
}

/** A class without closures, because thousands of streams may be open. */
export class CallsReader {
  readonly #choice: CallingChoice;
  readonly #calls: Call[] = [];
  /** The newest of each number. */
  readonly #numbered = new Map<unknown, Call>();

  constructor(choice: CallingChoice) {
    this.#choice = choice;
  }

  get any(): boolean {
    return this.#calls.length > 0;
  }

  read(pieces: readonly JsonObject[]): void {
    for (const piece of pieces) {
      const { name, text } = readCalled(piece);
      if (text === undefined) {
        this.#choice.tell(unshown);
        continue;
      }
      const call = this.#callOf(piece, { name, text });
      if (call.id === "") call.id = textOf(piece["id"]);
      if (call.name === "") call.name = name;
      call.signature = { ...call.signature, ...readSignature(piece) };
      call.waiting += text;
      call.extent?.add(text);
      if (call.name !== "") this.#tellAbout(call);
    }
  }

  end(): void {
    for (const call of this.#calls) this.#tellAbout(call);
    for (const { index } of this.#calls) {
      if (index !== undefined) this.#choice.tell({ kind: "part_end", index });
    }
  }

  /** Some vendors number every call 0, or none; a new call is known all the same. */
  #callOf(piece: JsonObject, called: Called): Call {
    const key = piece["index"];
    const id = textOf(piece["id"]);
    const known = key === undefined ? this.#calls.at(-1) : this.#numbered.get(key);
    if (known !== undefined && !isAnother(known, id, called)) return known;
    const extent = id === "" ? new JsonExtent() : undefined;
    const at = this.#calls.length;
    const call: Call = { at, id: "", extent, name: "", signature: {}, index: undefined, waiting: "" };
    this.#calls.push(call);
    this.#numbered.set(key, call);
    return call;
  }

  #tellAbout(call: Call): void {
    if (call.index === undefined) {
      const index = this.#choice.begin();
      if (call.id === "") call.id = madeCallId(this.#choice.answerId, call.at);
      call.index = index;
      this.#choice.tell({ kind: "tool_call", index, id: call.id, name: call.name, ...call.signature });
    }
    if (call.waiting === "") return;
    this.#choice.tell({ kind: "tool_arguments", index: call.index, text: call.waiting });
    call.waiting = "";
  }
}

interface Called {
  readonly name: string;
  readonly text: string;
}

/** A new id with a name is a new call; without ids it is another name, or arguments behind whole ones. */
function isAnother(known: Call, id: string, { name, text }: Called): boolean {
  if (name === "" || known.name === "") return false;
  if (id !== "") return id !== known.id;
  if (known.extent === undefined) return false;
  return name !== known.name || (text !== "" && known.extent.isWhole);
}
