// OpenAI's Responses, as its callers speak it. Who knows it is asked in it (exchanges/openai-responses.ts); for everybody else
// it is read into a conversation, and what they answer is written as a response that nobody has kept.

import type { SpokenDialect } from "../dialect.ts";
import { readRequest } from "./read-request.ts";
import { saidAgain } from "./response.ts";
import { namesOfTools } from "./tools.ts";
import { writeAnswer } from "./write-answer.ts";
import { createEventWriter } from "./write-events.ts";

export const responsesDialect: SpokenDialect = {
  name: "responses",
  readRequest,
  // They stand in items of their own, which nobody takes for the answer.
  asksForThoughts: () => true,
  namesOfTools,
  saidAgain,
  writeAnswer,
  createEventWriter,
};
