import { isJsonObject, listOrEmpty, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import type { ChatAnswer, ChatPart, ToolCallPart } from "../chat.ts";
import { callsIn, readCalled, readImages, textOf, thinkingOf } from "./answer-members.ts";
import { oddFinish, readStopReason } from "./stop-reason.ts";
import { madeCallId, readSignature } from "./tool-calls.ts";
import { readUsage } from "./usage.ts";

/**
 * A translated request asks for one choice. A caller of OpenAI itself may ask for more: all are read, so that what
 * was said can be counted.
 */
export function readAnswer(json: unknown): ChatAnswer {
  const answer = objectOrEmpty(json);
  const id = readAnswerId(textOf(answer["id"]) || undefined);
  const choices = listOrEmpty(answer["choices"]);
  const read = choices.filter(isJsonObject).map((choice) => readChoice(choice, id));
  return {
    id,
    model: readAnswerModel(textOf(answer["model"]) || undefined),
    parts: read.flatMap(({ parts }) => parts),
    stop: read[0]?.stop ?? "end",
    stopSequence: undefined,
    ...(read[0]?.oddStop === undefined ? {} : { oddStop: read[0].oddStop }),
    usage: readUsage(answer["usage"]),
  };
}

function readChoice(choice: JsonObject, id: string | undefined): ReadChoice {
  const message = objectOrEmpty(choice["message"]);
  const refusal = textOf(message["refusal"]);
  const calls = callsIn(message).flatMap((call, at) => readCall(call, madeCallId(id, at)) ?? []);
  const parts = [
    ...saying("reasoning", thinkingOf(message)),
    ...saying("text", textOf(message["content"]) + refusal),
    ...calls,
    ...readImages(message["images"]),
  ];
  const said = { called: calls.length > 0, refused: refusal !== "" };
  const finish = choice["finish_reason"];
  return { parts, stop: readStopReason(finish, said), oddStop: oddFinish(finish) };
}

interface ReadChoice extends Pick<ChatAnswer, "parts" | "stop"> {
  readonly oddStop: string | undefined;
}

const saying = (kind: "text" | "reasoning", text: string): readonly ChatPart[] =>
  text === "" ? [] : [{ kind, text }];

function readCall(call: JsonObject, idWhenNone: string): ToolCallPart | undefined {
  const { name, text } = readCalled(call);
  if (text === undefined) return undefined;
  const id = textOf(call["id"]) || idWhenNone;
  return { kind: "tool_call", id, name, arguments: text, ...readSignature(call) };
}
