// A response in events: each item opened, filled word by word, and closed; the last one carries usage.

import { fragmentsOf } from "../../model/fragments.ts";
import type { Billed, JsonObject, StreamEvent } from "../../vendor.ts";
import { nothingYet, type Generated } from "./meter.ts";
import { textPart, type Item } from "./responses-items.ts";

interface Response {
  readonly begun: JsonObject;
  readonly whole: JsonObject;
  readonly items: readonly Item[];
  readonly billed: (soFar: Generated) => Billed;
}

export function* responseEvents({ begun, whole, items, billed }: Response): Generator<StreamEvent> {
  let soFar = nothingYet;
  let sequence = 0;
  const event = (type: string, data: JsonObject): StreamEvent => ({
    event: type,
    data: { type, sequence_number: sequence++, ...data },
    billed: billed(soFar),
  });

  yield event("response.created", { response: begun });
  yield event("response.in_progress", { response: begun });
  for (const [index, item] of items.entries()) {
    soFar = { output: soFar.output + item.hiddenTokens, reasoning: soFar.reasoning + item.hiddenTokens };
    for (const { type, data, tokens = 0 } of stepsOf(item)) {
      soFar = { ...soFar, output: soFar.output + tokens };
      yield event(type, { output_index: index, ...data });
    }
  }
  yield event(`response.${String(whole["status"])}`, { response: whole });
}

interface Step {
  readonly type: string;
  readonly data: JsonObject;
  readonly tokens?: number;
}

function* stepsOf({ item, spoken }: Item): Generator<Step> {
  const at = { item_id: item["id"] };
  const inPart = { ...at, content_index: 0 };

  if (spoken === undefined) {
    yield { type: "response.output_item.added", data: { item } };
  } else if (spoken.as === "text") {
    yield begun(item, { content: [] });
    yield { type: "response.content_part.added", data: { ...inPart, part: textPart("") } };
    for (const { text, tokens } of fragmentsOf(spoken.text))
      yield { type: "response.output_text.delta", data: { ...inPart, delta: text, logprobs: [] }, tokens };
    yield { type: "response.output_text.done", data: { ...inPart, text: spoken.text, logprobs: [] } };
    yield { type: "response.content_part.done", data: { ...inPart, part: textPart(spoken.text) } };
  } else {
    const said = spoken.as === "arguments" ? "function_call_arguments" : "custom_tool_call_input";
    const called = spoken.as === "arguments" ? { name: item["name"] } : {};
    yield begun(item, { [spoken.as]: "" });
    for (const { text, tokens } of fragmentsOf(spoken.text))
      yield { type: `response.${said}.delta`, data: { ...at, delta: text }, tokens };
    yield { type: `response.${said}.done`, data: { ...at, ...called, [spoken.as]: spoken.text } };
  }
  yield { type: "response.output_item.done", data: { item } };
}

const begun = (item: JsonObject, empty: JsonObject): Step => ({
  type: "response.output_item.added",
  data: { item: { ...item, status: "in_progress", ...empty } },
});
