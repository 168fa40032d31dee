// What the vendor keeps of its responses unless it is told not to: here the newest of them, as long as the sandbox runs.

import type { JsonObject } from "../../vendor.ts";

export interface KeptResponses {
  /** All that was said up to the end of this response; undefined where some of it is not kept. */
  readonly conversation: (responseId: unknown) => readonly JsonObject[] | undefined;
  readonly item: (id: unknown) => JsonObject | undefined;
  readonly keep: (response: KeptResponse) => void;
}

interface KeptResponse {
  readonly id: string;
  readonly previousId: unknown;
  /** What was sent and what was answered. */
  readonly items: readonly JsonObject[];
}

// A few conversations of the size of a book, or hundreds of short ones.
const keptMax = 1000;
const keptCharactersMax = 16 * 1024 * 1024;

export function createKeptResponses(): KeptResponses {
  const responses = new Map<unknown, KeptResponse & { readonly characters: number }>();
  const items = new Map<unknown, JsonObject>();
  let characters = 0;

  const forgetOldest = (): void => {
    const [oldest] = responses.values();
    if (oldest === undefined) return;
    responses.delete(oldest.id);
    characters -= oldest.characters;
    for (const item of oldest.items) if (items.get(item["id"]) === item) items.delete(item["id"]);
  };

  return {
    conversation(responseId) {
      const said: (readonly JsonObject[])[] = [];
      for (let id = responseId; id !== undefined && id !== null;) {
        const response = responses.get(id);
        if (response === undefined) return undefined;
        said.unshift(response.items);
        id = response.previousId;
      }
      return said.flat();
    },
    item: (id) => items.get(id),
    keep(response) {
      if (responses.has(response.id)) return;
      const kept = { ...response, characters: JSON.stringify(response.items).length };
      responses.set(response.id, kept);
      characters += kept.characters;
      for (const item of response.items) if (typeof item["id"] === "string") items.set(item["id"], item);
      while (responses.size > keptMax || characters > keptCharactersMax) forgetOldest();
    },
  };
}
