import type { NoAnswerReason } from "../operation/exchanged.ts";
import { createHttpClient } from "./http/http-client.ts";

/** A person waits. */
const timeoutMs = 5_000;
/** What it says does not matter. */
const answerBytesMax = 64 * 1024;

/**
 * "reachable", or why not, by the rules that calls are sent by: no proxy of the environment is used, and no certificate
 * trusted that they would not trust. Any answer proves that somebody is there.
 */
export async function probe(url: string): Promise<string> {
  const http = createHttpClient({ answerBytesMax, bodyTimeoutMs: timeoutMs, silenceTimeoutMs: timeoutMs });
  const request = {
    url,
    method: "GET",
    headers: {},
    body: undefined,
    firstByteTimeoutMs: timeoutMs,
  } as const;
  const outcome = await http.send(request);
  return outcome.kind === "answered" ? reachable : found[outcome.reason];
}

const reachable = "reachable";

const found: Readonly<Record<NoAnswerReason, string>> = {
  unreachable: "no connection can be made, or its certificate is not trusted",
  timeout: "it takes too long to answer",
  cut_off: "it breaks off its answer",
  redirect: reachable,
  too_large: reachable,
  malformed: "its answer is not HTTP/1.1",
  gateway_stopped: "nobody waits for it any more",
};
