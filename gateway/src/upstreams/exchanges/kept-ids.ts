// OpenAI keeps its responses unless it is told not to, or its customer has agreed that it never does. Later calls name
// them, and the items in them, by their ids. Anthropic keeps a thread under the id of its newest answer.

import type { Dispatch } from "../../operation/forwarder.ts";
import { isJsonObject } from "../../platform/json.ts";

/** More items than any model writes; should there be more, those are nobody's. */
const keptIdsMax = 1_000;

/** An id that nobody remembers is everybody's, so this is far beyond what those pack into theirs who pass responses on. */
const idCharactersMax = 4_096;

/** The ids of one response and its items, as they are told: once in a whole answer, again and again in a stream. */
export class KeptIds {
  readonly #ids = new Set<string>();
  #isKept: boolean;

  constructor({ input: { body } }: Dispatch) {
    this.#isKept = !isJsonObject(body) || body["store"] !== false;
  }

  addResponse(response: unknown): void {
    if (!isJsonObject(response)) return;
    if (response["store"] === false) this.#isKept = false;
    this.addItem(response);
    if (Array.isArray(response["output"])) for (const item of response["output"]) this.addItem(item);
  }

  addItem(item: unknown): void {
    if (!this.#isKept || !isJsonObject(item)) return;
    const { id } = item;
    if (typeof id !== "string" || id.length > idCharactersMax) return;
    if (this.#ids.size < keptIdsMax) this.#ids.add(id);
  }

  get all(): readonly string[] {
    return this.#isKept ? [...this.#ids] : [];
  }
}

/** A whole answer has its id at the top, the first event of a stream has it in the message that begins. */
export function keptIdOf(answer: unknown): readonly string[] {
  if (!isJsonObject(answer)) return [];
  const { id } = isJsonObject(answer["message"]) ? answer["message"] : answer;
  return typeof id === "string" && id.length <= idCharactersMax ? [id] : [];
}

export function keptIdsIn(response: unknown, dispatch: Dispatch): readonly string[] {
  const ids = new KeptIds(dispatch);
  ids.addResponse(response);
  return ids.all;
}
