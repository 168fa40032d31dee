// The OpenAI Chat Completions dialect, both ways.

import { objectOrEmpty, objectsIn } from "../../../platform/json.ts";
import type { Dialect } from "../dialect.ts";
import { namesIn } from "../names-in.ts";
import { readAnswer } from "./read-answer.ts";
import { writeAnswer } from "./write-answer.ts";
import { createEventReader } from "./read-events.ts";
import { createEventWriter } from "./write-events.ts";
import { readRequest } from "./read-request.ts";
import { writeRequest } from "./write-request.ts";
import { readUsage } from "./usage.ts";

export const openaiDialect: Dialect = {
  name: "openai",
  takenToolNames: /^[a-zA-Z0-9_-]{1,64}$/,
  readRequest,
  namesOfTools: ({ tools }) => namesIn(objectsIn(tools).map((tool) => objectOrEmpty(tool["function"]))),
  // They stand beside the answer, in a member that nobody takes for it.
  asksForThoughts: () => true,
  writeRequest,
  readAnswer,
  readUsage,
  writeAnswer,
  createEventReader,
  createEventWriter,
};
