import type { Dialect } from "../dialect.ts";
import { listed, namesIn } from "../names-in.ts";
import { createEventReader } from "./read-events.ts";
import { createEventWriter } from "./write-events.ts";
import { readAnswer } from "./read-answer.ts";
import { readRequest } from "./read-request.ts";
import { asksForThoughts } from "./reasoning.ts";
import { readUsage } from "./usage.ts";
import { writeAnswer } from "./write-answer.ts";
import { writeRequest } from "./write-request.ts";

/** Gemini's generateContent. The model and whether it streams stand in the path, not in the body. */
export const geminiDialect: Dialect = {
  name: "gemini",
  // Google itself has taken 128 letters for some time, and not everywhere.
  takenToolNames: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
  readRequest,
  namesOfTools: ({ tools }) =>
    listed(tools).flatMap((tool) => namesIn(tool["functionDeclarations"] ?? tool["function_declarations"])),
  asksForThoughts,
  writeRequest,
  readAnswer,
  readUsage,
  writeAnswer,
  createEventReader,
  createEventWriter,
};
