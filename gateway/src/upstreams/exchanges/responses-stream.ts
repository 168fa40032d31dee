// The events of OpenAI's Responses: passed on as they come, and read for what they say was written, used and refused.

import type { Dispatch } from "../../operation/forwarder.ts";
import { objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { objectIn } from "../answers/answer-text.ts";
import { saysError } from "../answers/hidden-error.ts";
import { eventWithoutLimits } from "../answers/own-limits.ts";
import { withheldRefusal } from "../answers/refusal-subject.ts";
import { unshown, type ChatEvent } from "../dialects/chat.ts";
import { brokenOff, stopped, withheld, type CutShort } from "../dialects/cut-short.ts";
import { writeError } from "../dialects/responses/write-error.ts";
import type { OperatorWords } from "../protocol.ts";
import type { ShownEnding, StreamRules } from "../streams/frame-passer.ts";
import { sseText, type SseFrame } from "../streams/sse.ts";
import { KeptIds } from "./kept-ids.ts";
import { endings } from "./responses-events.ts";
import { holdsOutput, isImageCall, isOutput, textBytes } from "./responses-output.ts";
import { modelIn, readUsage } from "../dialects/responses/read-usage.ts";

export function responsesStream(dispatch: Dispatch, words: OperatorWords): StreamRules {
  const read = createEventReader(words);
  const kept = new KeptIds(dispatch);
  // A frame passes unread only where it differs from the last one in its text alone: every other number is read here.
  let nextNumber = 0;
  return {
    contentType: "text/event-stream; charset=utf-8",
    read: (frame) => {
      const event = eventOf(frame);
      kept.addResponse(event?.["response"]);
      kept.addItem(event?.["item"]);
      const events = read(event);
      if (!events.some(isWithheld)) nextNumber = numberAfter(event) ?? nextNumber;
      return events;
    },
    alike: true,
    write: ({ text, event }, events) => {
      if (events.some(isWithheld)) return sayError(withheld, nextNumber);
      const told = event && eventWithoutLimits(event);
      return told ? sseText(told) : text;
    },
    end: (ending) => (ending === "whole" ? "" : sayError(cutBy(ending), nextNumber)),
    keptIds: () => kept.all,
    oddFigures: (frame) => {
      const anomalies: string[] = [];
      readUsage(endOf(eventOf(frame))?.["usage"], anomalies);
      return anomalies;
    },
  };
}

function numberAfter(event: JsonObject | undefined): number | undefined {
  const number = event?.["sequence_number"];
  return Number.isSafeInteger(number) ? Number(number) + 1 : undefined;
}

const cutBy = (ending: ShownEnding): CutShort => (ending === "gateway_stopped" ? stopped : brokenOff);

function sayError(told: CutShort, number: number): string {
  const event = { type: "error", ...writeError(told), sequence_number: number };
  return sseText({ event: event.type, data: JSON.stringify(event) });
}

/**
 * Only what the meter needs: pieces and whole items of output, the end with its figures, and an error in between. Some
 * vendors give items whole, without a piece before them, so that what they say is told with their end.
 */
function createEventReader(words: OperatorWords): (event: JsonObject | undefined) => readonly ChatEvent[] {
  /** How much the items say that have ended. */
  let itemBytes = 0;

  const readDone = (event: JsonObject): readonly ChatEvent[] => {
    const partBytes = textBytes(event);
    const saidBytes = itemBytes + partBytes;
    const isItem = event["type"] === itemDone;
    // A part belongs to an item that has not ended, and whose end says it once more.
    if (isItem) itemBytes = saidBytes;
    const isSaid = isItem ? isOutput(event["item"]) : partBytes > 0;
    return isSaid ? [{ kind: "part_end", index: indexIn(event), saidBytes, partBytes }] : [];
  };

  return (event) => {
    if (event === undefined) return [];
    const { type, delta } = event;
    if (type === "error" || saysError(event)) return [gaveUpBy(event, words)];
    const end = endOf(event);
    if (end !== undefined) return readEnd(end, type, words);
    if (holdsMedia(event)) return [unshown];
    if (typeof type !== "string") return [];
    if (type.endsWith(".done")) return readDone(event);
    const isPiece = type.endsWith(".delta") && typeof delta === "string";
    return isPiece ? [{ kind: "text", index: indexIn(event), text: delta }] : [];
  };
}

function readEnd(end: JsonObject, type: unknown, words: OperatorWords): readonly ChatEvent[] {
  const { output } = end;
  const usage = readUsage(end["usage"], []);
  return [
    { kind: "start", id: undefined, model: modelIn(end) },
    ...(holdsOutput(output) ? [{ kind: "part_end", index: 0, saidBytes: textBytes(output) } as const] : []),
    ...(usage ? [{ kind: "usage", usage } as const] : []),
    { kind: "stop", reason: "end", stopSequence: undefined },
    ...(type === "response.failed" ? [gaveUpBy(end, words)] : []),
  ];
}

/** Which item of the answer it is about. */
const indexIn = ({ output_index: index }: JsonObject): number => (typeof index === "number" ? index : 0);

/** Sound comes in pieces; an image comes again whenever it gets clearer, and at last with its item. */
function holdsMedia({ type, item }: JsonObject): boolean {
  if (type === itemDone) return isImageCall(item) && Boolean(item["result"]);
  return mediaEvents.has(type);
}

const itemDone = "response.output_item.done";

const mediaEvents: ReadonlySet<unknown> = new Set([
  "response.audio.delta",
  "response.output_audio.delta",
  "response.image_generation_call.partial_image",
]);

function gaveUpBy(json: JsonObject, words: OperatorWords): ChatEvent {
  const refused = withheldRefusal(json, words);
  return refused ? { ...gaveUp, refused } : gaveUp;
}

const gaveUp = { kind: "error", type: "error", message: "the provider gave up" } as const;
const isWithheld = (event: ChatEvent): boolean => event.kind === "error" && event.refused !== undefined;

/** The response as it stands at the end; undefined for an event that is not the last. */
function endOf(event: JsonObject | undefined): JsonObject | undefined {
  if (event === undefined || !endings.has(event["type"])) return undefined;
  return objectOrEmpty(event["response"]);
}

const eventOf = ({ event }: SseFrame): JsonObject | undefined => event && objectIn(event.data);
