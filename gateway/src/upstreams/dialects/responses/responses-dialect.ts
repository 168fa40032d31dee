// OpenAI's Responses. Callers of them are answered by every model; OpenAI itself is asked in them by callers of other dialects
// where a chat completion would keep its model from thinking or from calling tools.

import type { Dialect } from "../dialect.ts";
import { readAnswer } from "./read-answer.ts";
import { createEventReader } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { readUsage } from "./read-usage.ts";
import { saidAgain } from "./response.ts";
import { namesOfTools } from "./tool-names.ts";
import { writeAnswer } from "./write-answer.ts";
import { createEventWriter } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";

export const responsesDialect: Dialect = {
  name: "responses",
  takenToolNames: /^[a-zA-Z0-9_-]{1,64}$/,
  readRequest,
  // They stand in items of their own, which nobody takes for the answer.
  asksForThoughts: () => true,
  namesOfTools,
  saidAgain,
  writeRequest,
  readAnswer,
  readUsage: (reported) => readUsage(reported, []),
  writeAnswer,
  createEventReader,
  createEventWriter,
};
