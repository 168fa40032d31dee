// Anthropic's Messages API, as of its TypeScript SDK 1.8.

import type { Dialect } from "../dialect.ts";
import { namesIn } from "../names-in.ts";
import { readAnswer } from "./read-answer.ts";
import { createEventReader } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { asksForThoughts } from "./thinking.ts";
import { readUsage } from "./usage.ts";
import { writeAnswer } from "./write-answer.ts";
import { createEventWriter } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";

export const anthropicDialect: Dialect = {
  name: "anthropic",
  takenToolNames: /^[a-zA-Z0-9_-]{1,128}$/,
  readRequest,
  namesOfTools: ({ tools }) => namesIn(tools),
  asksForThoughts,
  writeRequest,
  readAnswer,
  readUsage,
  writeAnswer,
  createEventReader,
  createEventWriter,
};
