// The OpenAI Chat Completions dialect, both ways.

import type { Dialect } from "../dialect.ts";
import { readAnswer, writeAnswer } from "./openai-answer.ts";
import { createEventReader } from "./openai-event-reader.ts";
import { createEventWriter } from "./openai-event-writer.ts";
import { readRequest } from "./openai-request-reader.ts";
import { writeRequest } from "./openai-request-writer.ts";
import { readUsage } from "./openai-usage.ts";

export const openaiDialect: Dialect = {
  name: "openai",
  readRequest,
  writeRequest,
  readAnswer,
  readUsage,
  writeAnswer,
  createEventReader,
  createEventWriter,
};
