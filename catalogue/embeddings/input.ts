// What embeddings are made of: a text, a list of texts, or the same in tokens. There may be hundreds of thousands of tokens.

import { z } from "../../gateway/src/for-catalogues.ts";

const inputsMax = 2_048;
/** What OpenAI reads in one request. How long a single input may be differs by model, and is the vendor's to say. */
const tokensMax = 300_000;

/** Every token, every list of them, and room for the rest of a body. */
export const bodyValuesMax = tokensMax + inputsMax + 1_000;

export type EmbeddingInput = string | readonly string[] | readonly number[] | readonly (readonly number[])[];

const text = { type: "string", minLength: 1 };
const tokens = { type: "array", minItems: 1, items: { type: "integer", minimum: 0 } };
const inputsOf = (items: object) => ({ type: "array", minItems: 1, maxItems: inputsMax, items });

/** Checked by hand: a union of schemas would try each form on every element, and tell what is wrong with all of them. */
export const embeddingInput = z
  .custom<EmbeddingInput>()
  .check((checked) => {
    const input: unknown = checked.value;
    const wrong = firstWrongIn(input);
    if (input === undefined) checked.issues.push({ code: "invalid_type", expected: "string", input });
    else if (wrong) checked.issues.push({ code: "custom", message: wrong.why, path: wrong.path, input });
  })
  .meta({
    anyOf: [text, inputsOf(text), tokens, inputsOf(tokens)],
    description: `A text, a list of texts, or the same in tokens, of which there may be ${tokensMax} in all.`,
  });

interface Wrong {
  readonly path: number[];
  readonly why: string;
}

const wrongAt = (path: number[], why: string): Wrong => ({ path, why });
const empty = "must not be empty";

/** Looks at each element once, and no further than the first that is wrong. */
function firstWrongIn(input: unknown): Wrong | undefined {
  if (typeof input === "string") return input === "" ? wrongAt([], empty) : undefined;
  if (!Array.isArray(input)) return wrongAt([], "expected a text, a list of texts, or the same in tokens");
  const first: unknown = input[0];
  if (typeof first === "number") return wrongTokenIn(input, [], tokensMax);
  if (input.length === 0) return wrongAt([], empty);
  if (input.length > inputsMax) return wrongAt([], `at most ${inputsMax} inputs`);
  return typeof first === "string" ? wrongTextIn(input) : wrongListIn(input);
}

function wrongTextIn(texts: readonly unknown[]): Wrong | undefined {
  const at = texts.findIndex((one) => typeof one !== "string" || one === "");
  if (at === -1) return undefined;
  return wrongAt([at], texts[at] === "" ? empty : "expected a text, as before it");
}

function wrongListIn(lists: readonly unknown[]): Wrong | undefined {
  let tokensLeft = tokensMax;
  for (let at = 0; at < lists.length; at++) {
    const list = lists[at];
    if (!Array.isArray(list)) return wrongAt([at], "expected a text or a list of tokens, all of one kind");
    const wrong = wrongTokenIn(list, [at], tokensLeft);
    if (wrong) return wrong;
    tokensLeft -= list.length;
  }
  return undefined;
}

function wrongTokenIn(list: readonly unknown[], path: number[], tokensLeft: number): Wrong | undefined {
  if (list.length === 0) return wrongAt(path, empty);
  if (list.length > tokensLeft) return wrongAt(path, `at most ${tokensMax} tokens in all`);
  const at = list.findIndex((token) => !isToken(token));
  return at === -1 ? undefined : wrongAt([...path, at], "expected a token, a whole number from 0");
}

const isToken = (token: unknown): boolean =>
  typeof token === "number" && Number.isSafeInteger(token) && token >= 0;
