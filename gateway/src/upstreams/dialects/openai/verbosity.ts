// How much the model is to say. It is a wish about style that agents send for the names of OpenAI's models by themselves, whoever
// serves these: it gives way where a model cannot be told.

import type { Verbosity } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { readText } from "./members.ts";

const verbosities: readonly Verbosity[] = ["low", "medium", "high"];

export function readVerbosity(value: unknown, field: string): Verbosity | undefined {
  const said = readText(value, field);
  if (said === undefined) return undefined;
  const verbosity = verbosities.find((each) => each === said);
  if (verbosity === undefined)
    throw new Inexpressible(field, `${JSON.stringify(said)} is not low, medium or high`);
  return verbosity;
}

/** Others refuse the member; "medium" is what all do unasked. */
export const verbosityFor = (model: string, verbosity: Verbosity | undefined): Verbosity | undefined =>
  verbosity !== "medium" && takesVerbosity.test(model) ? verbosity : undefined;

/** Those of OpenAI's that are made for code alone, or for ChatGPT, are said to take nothing but "medium". */
const takesVerbosity = /(^|\/)gpt-[5-9](\.\d+)?(-mini|-nano|-sol|-terra|-luna|-astra)?(-\d{4}-\d\d-\d\d)?$/;
