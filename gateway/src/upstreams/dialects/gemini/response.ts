// A GenerateContentResponse, whole or one chunk of a stream, with everything that may be missing made plain.

import { isJsonObject } from "../../../platform/json.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import type { ChatUsage } from "../chat.ts";
import { readUsage } from "./usage.ts";

export interface Response {
  readonly id: string | undefined;
  readonly model: string | undefined;
  readonly parts: readonly unknown[];
  readonly finishReason: string | undefined;
  /** The prompt itself was refused; there are no candidates then. */
  readonly promptBlocked: boolean;
  readonly usage: ChatUsage | undefined;
}

export function readResponse(json: unknown): Response {
  const response = objectOr(json);
  const candidate = objectOr(Array.isArray(response["candidates"]) ? response["candidates"][0] : undefined);
  const parts = objectOr(candidate["content"])["parts"];
  return {
    id: readAnswerId(textOr(response["responseId"])),
    model: readAnswerModel(textOr(response["modelVersion"])),
    parts: Array.isArray(parts) ? parts : [],
    finishReason: textOr(candidate["finishReason"]),
    promptBlocked: textOr(objectOr(response["promptFeedback"])["blockReason"]) !== undefined,
    usage: readUsage(response["usageMetadata"]),
  };
}

const objectOr = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

const textOr = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
