// Calls of tools inside a stream: the first piece of each brings id and name, later ones its arguments.

import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent } from "../chat.ts";
import { callsIn, readCalled, textOf } from "./answer-members.ts";
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

export interface CallsReader {
  readonly read: (delta: JsonObject) => void;
  readonly end: () => void;
  readonly any: () => boolean;
}

export function createCallsReader(parts: {
  readonly answerId: string;
  readonly tell: (event: ChatEvent) => void;
  /** Begins a part of the answer and gives its number. */
  readonly begin: () => number;
}): CallsReader {
  const calls: Call[] = [];
  /** The newest of each number. */
  const numbered = new Map<unknown, Call>();

  return {
    any: () => calls.length > 0,

    read: (delta) => {
      for (const piece of callsIn(delta)) {
        const { name, text } = readCalled(piece);
        const call = callOf(piece, { name, text });
        if (call.id === "") call.id = textOf(piece["id"]);
        if (call.name === "") call.name = name;
        call.signature = { ...call.signature, ...readSignature(piece) };
        call.waiting += text;
        call.extent?.add(text);
        if (call.name !== "") tellAbout(call);
      }
    },

    end: () => {
      for (const call of calls) tellAbout(call);
      for (const { index } of calls) if (index !== undefined) parts.tell({ kind: "part_end", index });
    },
  };

  /** Some vendors number every call 0, or none; a new call is known all the same. */
  function callOf(piece: JsonObject, called: Called): Call {
    const key = piece["index"];
    const id = textOf(piece["id"]);
    const known = key === undefined ? calls.at(-1) : numbered.get(key);
    if (known !== undefined && !isAnother(known, id, called)) return known;
    const extent = id === "" ? new JsonExtent() : undefined;
    const at = calls.length;
    const call: Call = { at, id: "", extent, name: "", signature: {}, index: undefined, waiting: "" };
    calls.push(call);
    numbered.set(key, call);
    return call;
  }

  function tellAbout(call: Call): void {
    if (call.index === undefined) {
      const index = parts.begin();
      if (call.id === "") call.id = madeCallId(parts.answerId, call.at);
      call.index = index;
      parts.tell({ kind: "tool_call", index, id: call.id, name: call.name, ...call.signature });
    }
    if (call.waiting === "") return;
    parts.tell({ kind: "tool_arguments", index: call.index, text: call.waiting });
    call.waiting = "";
  }
}

type Called = ReturnType<typeof readCalled>;

/** A new id with a name is a new call; without ids it is another name, or arguments behind whole ones. */
function isAnother(known: Call, id: string, { name, text }: Called): boolean {
  if (name === "" || known.name === "") return false;
  if (id !== "") return id !== known.id;
  if (known.extent === undefined) return false;
  return name !== known.name || (text !== "" && known.extent.isWhole);
}
