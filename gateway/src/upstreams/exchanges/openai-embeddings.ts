import type { TokenReading } from "../../operation/token-reading.ts";
import { objectOrEmpty } from "../../platform/json.ts";
import { hiddenFailureIn } from "../answers/hidden-error.ts";
import type { Exchange } from "../protocol.ts";
import { hasDelivered } from "../answers/delivered-data.ts";
import { nativeBody } from "./native-body.ts";
import { readCount } from "../../prices/read-count.ts";

/** Embeddings in OpenAI's own words, which compatible vendors speak too; everything passes as it comes. */
export const openaiEmbeddings: Exchange = {
  request: ({ service, input }) => ({
    method: "POST",
    path: service.path,
    body: nativeBody(input.rawBody, input.body, {}),
  }),
  hiddenFailure: (json) => hiddenFailureIn(json, hasDelivered),
  read: (json) => ({ tokens: readTokens(json) }),
};

function readTokens(json: unknown): TokenReading {
  const anomalies: string[] = [];
  const answer = objectOrEmpty(json);
  const usage = objectOrEmpty(answer["usage"]);
  // Some compatible vendors report a total alone; of embeddings it is the input.
  const counted =
    readCount(usage["prompt_tokens"], "prompt_tokens", anomalies) ??
    readCount(usage["total_tokens"], "total_tokens", anomalies);
  return {
    used: counted === undefined ? undefined : { input_tokens: counted },
    // What was sent is all there is to pay for, and it is expected already.
    estimate: hasDelivered(answer) ? {} : undefined,
    model: typeof answer["model"] === "string" ? answer["model"] : undefined,
    anomalies,
  };
}
