import type { JsonObject } from "../../../platform/json.ts";
import type { ChatAnswer, ChatPart } from "../chat.ts";
import type { WriteContext } from "../dialect.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { writeStopReason } from "./stop-reason.ts";
import { markFirstCall } from "./signatures.ts";
import { writeImage } from "./media.ts";
import { writeUsage } from "./usage.ts";
import { isEmptyThought, writeCall, writeReasoning } from "./write-parts.ts";

export function writeAnswer(answer: ChatAnswer, context: WriteContext): JsonObject {
  const malformed = answer.parts.some((part) => part.kind === "tool_call" && writeCall(part) === undefined);
  const candidate = {
    content: { role: "model", parts: markFirstCall(answer.parts.flatMap(writePart)) },
    finishReason: writeStopReason(answer.stop, malformed),
    index: 0,
  };
  return withoutUndefined({
    candidates: [candidate],
    usageMetadata: answer.usage === undefined ? undefined : writeUsage(answer.usage),
    modelVersion: answer.model ?? context.model,
    responseId: answer.id ?? context.id,
  });
}

function writePart(part: ChatPart): readonly JsonObject[] {
  switch (part.kind) {
    case "text":
      return part.text === "" ? [] : [{ text: part.text }];
    case "image":
      return [writeImage(part)];
    case "reasoning":
      return isEmptyThought(part) ? [] : [writeReasoning(part)];
    case "tool_call": {
      const call = writeCall(part);
      return call === undefined ? [] : [call];
    }
    case "file":
    case "tool_result": // a model neither answers its own calls nor shows files
      return [];
  }
}
