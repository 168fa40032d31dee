import { isJsonObject } from "../../../platform/json.ts";
import { unshown, type ChatEvent } from "../chat.ts";
import type { EventReader, SseEvent } from "../dialect.ts";
import { isErrorTold } from "../dialect-errors.ts";
import { withExactNumbers } from "../exact-json.ts";
import { readStopReason } from "./stop-reason.ts";
import { joined } from "./join-parts.ts";
import { holdsUnshown, madeUpCallId, readAnswerPart } from "./read-answer-part.ts";
import type { AnswerPart } from "./read-answer-part.ts";
import { readStreamError } from "./stream-error.ts";
import { readResponse } from "./response.ts";

/** Every chunk is a whole response whose parts are what is new; usage repeats and grows. */
export function createEventReader(): EventReader {
  let id: string | undefined;
  let started = false;
  let stopped = false;
  let last: AnswerPart | undefined;
  let index = -1;
  let answers = false;
  let calls = 0;

  /** Candidates of which more may come; the answer stops with the last of them. */
  const running = new Set<number>();
  let finishReason: string | undefined;

  const endPart = (): ChatEvent[] => {
    if (last === undefined) return [];
    last = undefined;
    return [{ kind: "part_end", index }];
  };

  const readPart = (raw: unknown): ChatEvent[] => {
    const part = readAnswerPart(raw, madeUpCallId(id, calls));
    if (part === undefined) return holdsUnshown(raw) ? [unshown] : [];
    const ended = joined(last, part) === undefined ? endPart() : [];
    if (last === undefined) index++;
    last = part;
    answers ||= part.kind !== "reasoning";
    if (part.kind === "image") return [...ended, { ...part, index }, ...endPart()];
    if (part.kind !== "tool_call") return [...ended, { ...part, index }];
    calls++;
    const { arguments: text, ...call } = part;
    return [...ended, { ...call, index }, { kind: "tool_arguments", index, text }, ...endPart()];
  };

  const stop = (promptBlocked: boolean): ChatEvent[] => {
    stopped = true;
    const reason = promptBlocked ? "filtered" : readStopReason(finishReason, { answers, calls: calls > 0 });
    return [...endPart(), { kind: "stop", reason, stopSequence: undefined }];
  };

  const read = ({ data }: SseEvent): readonly ChatEvent[] => {
    const json = parse(data);
    if (!isJsonObject(json)) return [];
    if (isErrorTold(json["error"])) return [...endPart(), readStreamError(json["error"])];

    const response = readResponse(json);
    const events: ChatEvent[] = [];
    if (!started) {
      id = response.id;
      events.push({ kind: "start", id, model: response.model });
      started = true;
    }
    for (const candidate of response.candidates) {
      for (const part of candidate.parts) events.push(...readPart(part));
      if (candidate.finishReason === undefined) running.add(candidate.index);
      else running.delete(candidate.index);
      finishReason ??= candidate.finishReason;
    }
    if (response.usage !== undefined) events.push({ kind: "usage", usage: response.usage });
    const hasFinished = finishReason !== undefined && running.size === 0;
    if ((hasFinished || response.promptBlocked) && !stopped) events.push(...stop(response.promptBlocked));
    return events;
  };

  // Not every candidate says why it stopped; in a stream that ended in good order none of them goes on.
  const end = (): readonly ChatEvent[] => (finishReason === undefined || stopped ? [] : stop(false));
  return Object.assign(read, { end });
}

function parse(data: string): unknown {
  try {
    const json: unknown = JSON.parse(data);
    return data.includes("functionCall") ? withExactNumbers(json, data) : json;
  } catch {
    return undefined;
  }
}
