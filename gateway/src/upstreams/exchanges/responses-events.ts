// A whole response of OpenAI's as the events that a stream would have said it in: each item opened, filled and closed,
// and at the end the response itself, as the vendor gave it.

import { isJsonObject, listOrEmpty, type JsonObject } from "../../platform/json.ts";
import { objectIn } from "../answers/answer-text.ts";
import { nameCharactersMax } from "../dialects/answer-names.ts";
import type { SseEvent } from "../dialects/dialect.ts";
import { holdsOutput } from "./responses-output.ts";
import { sseText } from "../streams/sse.ts";

/** One event, before it is numbered. */
type Step = readonly [type: string, members: JsonObject];

/** Undefined for what is no response, or one that has not come to its end, or would be said at a length beyond measure. */
export function responseEvents(response: unknown): string | undefined {
  if (!isJsonObject(response)) return undefined;
  const { output, status = "completed" } = response;
  const last = typeof status === "string" ? `response.${status}` : "";
  if (!Array.isArray(output) || !output.every(isSayable) || !endings.has(last)) return undefined;
  const begun = {
    ...response,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  const before: Step[] = [
    ["response.created", { response: begun }],
    ["response.in_progress", { response: begun }],
    ...output.flatMap(itemSteps),
  ];
  // One that never began is said with the first word, so that another vendor can be asked for it.
  const steps: Step[] = [...(failedAtOnce(response) ? [] : before), [last, { response }]];
  return steps
    .map(([type, members], number) => ({ type, sequence_number: number, ...members }))
    .map((event) => sseText({ event: event.type, data: JSON.stringify(event) }))
    .join("");
}

export const isFailed = ({ status }: JsonObject): boolean => status === "failed";

/** Nothing came of it that somebody may have paid for. */
export const failedAtOnce = (response: JsonObject): boolean =>
  isFailed(response) && !holdsOutput(response["output"]);

/** The id of an item stands in every event about it, of which there are as many as the item has parts. */
const isSayable = (item: unknown): item is JsonObject => isJsonObject(item) && isShort(item["id"] ?? "");

const isShort = (id: unknown): boolean => typeof id === "string" && id.length <= nameCharactersMax;

/** The events that end a response. */
export const endings: ReadonlySet<unknown> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

/** Nothing was said of an answer yet, be it one that waits for its turn. */
export function onlyBegins({ data }: SseEvent): boolean {
  const { type, response } = objectIn(data) ?? {};
  return (
    beginnings.has(type) &&
    !(isJsonObject(response) && (isFailed(response) || holdsOutput(response["output"])))
  );
}

const beginnings: ReadonlySet<unknown> = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
  "keepalive",
]);

function itemSteps(item: JsonObject, index: number): Step[] {
  const { opened, said } = sayItem(item, { output_index: index, item_id: item["id"] });
  return [
    ["response.output_item.added", { output_index: index, item: opened }],
    ...said,
    ["response.output_item.done", { output_index: index, item }],
  ];
}

/** An item as it stands before anything is said of it, and what is said. */
interface SaidItem {
  readonly opened: JsonObject;
  readonly said: readonly Step[];
}

/** What we do not know how to fill comes at once. */
function sayItem(item: JsonObject, at: JsonObject): SaidItem {
  switch (item["type"]) {
    case "message":
      return {
        opened: { ...item, status: "in_progress", content: [] },
        said: sayParts(item["content"], contentPlace, at),
      };
    case "reasoning": {
      const opened = { ...item, summary: [], ...("content" in item ? { content: [] } : {}) };
      const summary = sayParts(item["summary"], summaryPlace, at);
      return { opened, said: [...summary, ...sayParts(item["content"], contentPlace, at)] };
    }
    case "function_call":
      return sayMember(item, "arguments", "response.function_call_arguments", at);
    case "custom_tool_call":
      return sayMember(item, "input", "response.custom_tool_call_input", at);
    default:
      return { opened: item, said: [] };
  }
}

const sayMember = (item: JsonObject, member: string, word: string, at: JsonObject): SaidItem => ({
  opened: { ...item, status: "in_progress", [member]: "" },
  said: sayText(item, { member, word }, at),
});

/** Where parts of an item lie: what the events about them are called, and how they are counted. */
interface Place {
  readonly word: string;
  readonly index: string;
}

const contentPlace: Place = { word: "response.content_part", index: "content_index" };
const summaryPlace: Place = { word: "response.reasoning_summary_part", index: "summary_index" };

const sayParts = (parts: unknown, place: Place, at: JsonObject): Step[] =>
  Array.isArray(parts)
    ? parts
        .filter(isJsonObject)
        .flatMap((part, index) => sayPart(part, place, { ...at, [place.index]: index }))
    : [];

function sayPart(part: JsonObject, { word }: Place, at: JsonObject): Step[] {
  const spoken = spokenParts.get(part["type"]);
  if (spoken === undefined)
    return [
      [`${word}.added`, { ...at, part }],
      [`${word}.done`, { ...at, part }],
    ];
  const notes = listOrEmpty(part["annotations"]);
  const empty = { ...part, [spoken.member]: "", ...(notes.length > 0 ? { annotations: [] } : {}) };
  return [
    [`${word}.added`, { ...at, part: empty }],
    ...sayText(part, spoken, at),
    ...notes.map((annotation, index): Step => [
      `${spoken.word}.annotation.added`,
      { ...at, annotation_index: index, annotation },
    ]),
    [`${word}.done`, { ...at, part }],
  ];
}

/** The member that is said piece by piece, and in which events. */
interface Spoken {
  readonly member: string;
  readonly word: string;
}

const spokenParts: ReadonlyMap<unknown, Spoken> = new Map([
  ["output_text", { member: "text", word: "response.output_text" }],
  ["refusal", { member: "refusal", word: "response.refusal" }],
  ["reasoning_text", { member: "text", word: "response.reasoning_text" }],
  ["summary_text", { member: "text", word: "response.reasoning_summary_text" }],
]);

/** All of a text in one piece, and that it has ended. */
function sayText(from: JsonObject, { member, word }: Spoken, at: JsonObject): Step[] {
  const text = from[member];
  if (typeof text !== "string") return [];
  const logprobs = word === "response.output_text" ? { logprobs: from["logprobs"] ?? [] } : {};
  const name = word === "response.function_call_arguments" ? { name: from["name"] } : {};
  return [
    ...(text === "" ? [] : [[`${word}.delta`, { ...at, delta: text, ...logprobs }] as const]),
    [`${word}.done`, { ...at, [member]: text, ...logprobs, ...name }],
  ];
}
