// How probable each piece of a text was: a figure out of the piece itself, for the stand-in model weighs no others.

import { fragmentsOf } from "../../model/fragments.ts";
import { createSeeded } from "../../seeded.ts";
import type { JsonObject } from "../../vendor.ts";

/** How many of the likeliest pieces are told with each, itself among them; undefined where nobody asked for any of it. */
export type TopLogprobs = number | undefined;

export function logprobsOf(text: string, top: TopLogprobs): JsonObject | null {
  if (top === undefined || text === "") return null;
  const content = Array.from(fragmentsOf(text), (fragment) => {
    const token = {
      token: fragment.text,
      logprob: createSeeded(`logprob ${fragment.text}`).decimal({ from: -2, to: -0.0001, places: 4 }),
      bytes: [...Buffer.from(fragment.text)],
    };
    return { ...token, top_logprobs: top === 0 ? [] : [token] };
  });
  return { content, refusal: null };
}
