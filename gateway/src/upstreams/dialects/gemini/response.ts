// A GenerateContentResponse, whole or one chunk of a stream, with everything that may be missing made plain.

import { listOrEmpty, objectOrEmpty, objectsIn, type JsonObject } from "../../../platform/json.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import type { ChatUsage } from "../chat.ts";
import { readUsage } from "./usage.ts";

export interface Response {
  readonly id: string | undefined;
  readonly model: string | undefined;
  /** A translated request asks for one. A caller of Google itself may ask for more: all are read, so that they can be counted. */
  readonly candidates: readonly Candidate[];
  /** The prompt itself was refused; there are no candidates then. */
  readonly promptBlocked: boolean;
  readonly usage: ChatUsage | undefined;
}

interface Candidate {
  readonly index: number;
  readonly parts: readonly unknown[];
  readonly finishReason: string | undefined;
}

export function readResponse(json: unknown): Response {
  const response = objectOrEmpty(json);
  const { candidates } = response;
  return {
    id: readAnswerId(textOr(response["responseId"])),
    model: readAnswerModel(textOr(response["modelVersion"])),
    candidates: objectsIn(candidates).map(readCandidate),
    promptBlocked: textOr(objectOrEmpty(response["promptFeedback"])["blockReason"]) !== undefined,
    usage: readUsage(response["usageMetadata"]),
  };
}

function readCandidate({ index, content, finishReason }: JsonObject): Candidate {
  const { parts } = objectOrEmpty(content);
  return {
    // Google leaves a zero out.
    index: typeof index === "number" ? index : 0,
    parts: listOrEmpty(parts),
    finishReason: textOr(finishReason),
  };
}

const textOr = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
