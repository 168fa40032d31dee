import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { readGeneration } from "./generation-config.ts";
import { membersOf } from "./members.ts";
import { readContents, readSystem } from "./read-contents.ts";
import { checkSafety } from "./safety.ts";
import { readTools } from "./tools.ts";

export function readRequest(
  body: JsonObject,
  asked: { readonly model: string; readonly stream: boolean },
): ChatRequest {
  const members = membersOf({ value: body, path: "" });
  const request = {
    model: asked.model,
    system: readSystem(members.take("systemInstruction")),
    messages: readContents(members.take("contents")),
    ...readTools(members.take("tools"), members.take("toolConfig")),
    parallelToolCalls: undefined,
    ...readGeneration(members.take("generationConfig")),
    endUser: undefined,
    stream: asked.stream,
  };
  checkSafety(members.take("safetySettings"));
  for (const harmless of ["model", "labels", "store", "serviceTier"]) members.take(harmless);
  members.refuseRest();
  return request;
}
