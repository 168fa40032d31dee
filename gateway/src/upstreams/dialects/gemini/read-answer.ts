import type { ChatAnswer, ChatPart } from "../chat.ts";
import { readStopReason } from "./stop-reason.ts";
import { joinParts } from "./join-parts.ts";
import { madeUpCallId, readAnswerPart } from "./read-answer-part.ts";
import { readResponse } from "./response.ts";

export function readAnswer(json: unknown): ChatAnswer {
  const response = readResponse(json);
  const [first] = response.candidates;
  const said = response.candidates.flatMap(({ parts }) => parts);
  const parts = joinParts(readParts(said, response.id));
  const answers = parts.some((part) => part.kind !== "reasoning");
  const calls = parts.some((part) => part.kind === "tool_call");
  return {
    id: response.id,
    model: response.model,
    parts,
    stop: response.promptBlocked ? "filtered" : readStopReason(first?.finishReason, { answers, calls }),
    stopSequence: undefined,
    usage: response.usage,
  };
}

function readParts(parts: readonly unknown[], responseId: string | undefined): ChatPart[] {
  let calls = 0;
  return parts.flatMap((each) => {
    const part = readAnswerPart(each, madeUpCallId(responseId, calls));
    if (part?.kind === "tool_call") calls++;
    return part ?? [];
  });
}
