// OpenAI's Responses: its own callers speak it, so requests, answers and events pass as they come; only the limit
// that the hold was computed from is added, and usage is read on the way.

import type { HiddenFailure } from "../../operation/exchanged.ts";
import { modelOf, type Dispatch } from "../../operation/forwarder.ts";
import type { TokenReading } from "../../operation/token-reading.ts";
import type { CallInput } from "../../operation/call-input.ts";
import { isJsonObject, objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import { guessTokens } from "../../prices/guess-tokens.ts";
import { errorIn, hiddenFailureIn, statusSaidIn } from "../answers/hidden-error.ts";
import { withoutLimits } from "../answers/own-limits.ts";
import { withheldRefusal } from "../answers/refusal-subject.ts";
import { errorBodyOf, readErrorMessage } from "../dialects/dialect-errors.ts";
import { markStart } from "../dialects/marks.ts";
import type { Exchange, OperatorWords } from "../protocol.ts";
import { quantitiesOf } from "../streams/stream-meter.ts";
import { keptIdsIn } from "./kept-ids.ts";
import { nativeBody } from "./native-body.ts";
import { failedAtOnce, isFailed, onlyBegins, responseEvents } from "./responses-events.ts";
import { textBytes } from "./responses-output.ts";
import { responsesStream } from "./responses-stream.ts";
import { modelIn, readUsage } from "../dialects/responses/read-usage.ts";
import { withSystemRole } from "./with-system-role.ts";
import { rewritten, type ForeignRule } from "./without-marked.ts";

export const openaiResponses: Exchange = {
  request: (dispatch) => ({ method: "POST", path: dispatch.service.path, body: responsesBody(dispatch) }),
  hiddenFailure,
  isKeptElsewhere: isResponseKeptElsewhere,
  read: (json, dispatch) => ({
    json: isJsonObject(json) ? withoutLimits(json) : undefined,
    tokens: readTokens(json),
    keptIds: keptIdsIn(json, dispatch),
  }),
  asEvents: responseEvents,
  beginnings: () => onlyBegins,
  stream: responsesStream,
};

/** The caller's own body, with the limit that the hold was computed from. */
export function responsesBody(dispatch: Dispatch): string | Uint8Array {
  const input = withSystemRole(withoutOurThoughts(dispatch.input), "input", dispatch.upstream);
  const body = objectOrEmpty(input.body);
  const limited = typeof body["max_output_tokens"] === "number";
  const added = limited ? {} : { max_output_tokens: modelOf(dispatch).unaskedOutputTokensMax };
  return nativeBody(input.rawBody, body, added);
}

/** What we sealed for another vendor only we can read, and OpenAI would refuse it. */
const withoutOurThoughts = (input: CallInput): CallInput =>
  objectsIn(objectOrEmpty(input.body)["input"]).some(isSealedHere) ? rewritten(input, ourThoughts) : input;

const isSealedHere = ({ type, encrypted_content: sealed }: JsonObject): boolean =>
  type === "reasoning" && typeof sealed === "string" && sealed.startsWith(markStart);

const ourThoughts: ForeignRule = {
  words: [markStart],
  places: { input: {} },
  judge: (item) => (isSealedHere(item) ? "all" : []),
};

/** A response that failed has an output all the same, be it an empty one. */
function hiddenFailure(json: unknown, words: OperatorWords): HiddenFailure | undefined {
  if (isJsonObject(json) && (failedAtOnce(json) || (isFailed(json) && withheldRefusal(json, words))))
    return statusSaidIn(json);
  return hiddenFailureIn(json, ({ output }) => Array.isArray(output));
}

/** Responses, their items and what they have encrypted are known to the account alone that was asked before. */
export function isResponseKeptElsewhere(status: number, json: unknown): boolean {
  if (status === 400)
    return unknownHere.has(errorIn(errorBodyOf(json))["code"]) || unreadable.test(readErrorMessage(json));
  return status === 404 && /^(?:item|conversation) with id .*not found\b/i.test(readErrorMessage(json));
}

const unknownHere: ReadonlySet<unknown> = new Set([
  "previous_response_not_found",
  "invalid_encrypted_content",
]);

/** It has been said without the code. */
const unreadable = /^the encrypted content\b.{0,300}\bcould not be (?:verified|decrypted)\b/i;

function readTokens(json: unknown): TokenReading {
  const anomalies: string[] = [];
  const response = objectOrEmpty(json);
  const usage = readUsage(response["usage"], anomalies);
  const bytes = textBytes(response["output"]);
  return {
    used: usage && quantitiesOf(usage),
    estimate: usage === undefined && bytes > 0 ? { output_tokens: guessTokens(bytes) } : undefined,
    model: modelIn(response),
    gaveUp: isFailed(response),
    anomalies,
  };
}
