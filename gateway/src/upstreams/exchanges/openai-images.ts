import type { Quantities } from "../../prices/quantities.ts";
import { modelOf } from "../../operation/forwarder.ts";
import type { TokenReading } from "../../operation/token-reading.ts";
import { isJsonObject, objectOrEmpty } from "../../platform/json.ts";
import { hiddenFailureIn } from "../answers/hidden-error.ts";
import type { Exchange } from "../protocol.ts";
import { hasDelivered } from "../answers/delivered-data.ts";
import { nativeBody } from "./native-body.ts";
import { readCount } from "../../prices/read-count.ts";

/** Images in OpenAI's own words; only a model that the caller left to us is written into the request. */
export const openaiImages: Exchange = {
  request: (dispatch) => {
    const { service, input } = dispatch;
    const named = isJsonObject(input.body) && typeof input.body["model"] === "string";
    return {
      method: "POST",
      path: service.path,
      body: nativeBody(input.rawBody, input.body, named ? {} : { model: modelOf(dispatch).name }),
    };
  },
  hiddenFailure: (json) => hiddenFailureIn(json, hasDelivered),
  read: (json) => ({ tokens: readTokens(json) }),
};

function readTokens(json: unknown): TokenReading {
  const anomalies: string[] = [];
  const answer = objectOrEmpty(json);
  return {
    used: readUsage(answer["usage"], anomalies),
    // Without a report, the images that came are those that were expected.
    estimate: hasDelivered(answer) ? {} : undefined,
    anomalies,
  };
}

/** Some compatible vendors count what they drew and not what they read. */
function readUsage(usage: unknown, anomalies: string[]): Quantities | undefined {
  if (!isJsonObject(usage)) return undefined;
  const output = readCount(usage["output_tokens"], "output_tokens", anomalies);
  if (output === undefined) return undefined;
  const input = readCount(usage["input_tokens"], "input_tokens", anomalies) ?? 0;
  return { input_tokens: input, output_tokens: output };
}
