import { listOrEmpty, objectOrEmpty, objectsIn, type JsonObject } from "../../../platform/json.ts";

/** The words in one event of a stream, whichever dialect it speaks; empty where it brings none. */
export function textOf(event: unknown): string {
  const { choices, candidates, delta, type } = objectOrEmpty(event);
  if (type === "response.output_text.delta" && typeof delta === "string") return delta;
  const spoken = [
    objectOrEmpty(firstOf(choices)["delta"])["content"],
    objectOrEmpty(delta)["text"],
    ...partsOf(firstOf(candidates)),
  ];
  return spoken.filter((word) => typeof word === "string").join("");
}

const firstOf = (list: unknown): JsonObject => objectOrEmpty(listOrEmpty(list)[0]);

const partsOf = ({ content }: JsonObject): unknown[] =>
  objectsIn(objectOrEmpty(content)["parts"]).map((part) => part["text"]);
