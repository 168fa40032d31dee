import type { Dispatch } from "../operation/forwarder.ts";
import { isJsonObject, type JsonObject } from "../platform/json.ts";
import { nativeBody } from "./exchanges/native-body.ts";

/** The same call, with the model in its body named as the upstream knows it. Everything else stays as it was written. */
export function renameModel(dispatch: Dispatch, model: string): Dispatch {
  const { input } = dispatch;
  if (!isJsonObject(input.body)) return dispatch;
  const renamed = membersNaming(input.body, model);
  if (Object.keys(renamed).length === 0) return dispatch;
  const rawBody = Buffer.from(nativeBody(input.rawBody, input.body, renamed));
  return { ...dispatch, input: { ...input, body: { ...input.body, ...renamed }, rawBody } };
}

function membersNaming(body: JsonObject, model: string): JsonObject {
  const renamed: Record<string, unknown> = {};
  if (typeof body["model"] === "string") renamed["model"] = sameForm(body["model"], model);
  // Who asks Gemini how many tokens a request would be may name the model once more, inside.
  for (const wrapper of ["generateContentRequest", "generate_content_request"]) {
    const inner = body[wrapper];
    if (isJsonObject(inner) && typeof inner["model"] === "string")
      renamed[wrapper] = { ...inner, model: sameForm(inner["model"], model) };
  }
  return renamed;
}

/** Gemini's callers write a model as the resource it is at Google. */
const sameForm = (asked: string, model: string): string =>
  asked.startsWith(resource) ? resource + model : model;

const resource = "models/";
