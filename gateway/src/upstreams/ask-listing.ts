import { jsonIn, roughTextOf } from "./answers/answer-text.ts";
import { isSuccessStatus } from "../operation/exchanged.ts";
import type { Upstream } from "../operation/upstream.ts";
import type { VendorListing } from "../operation/vendor-listing.ts";
import { createHttpClient, type HttpClient, type HttpOutcome } from "./http/http-client.ts";
import { aboutOurKey, type Listing, type Protocol } from "./protocol.ts";
import { requestHeaders } from "./request-headers.ts";

/** A person waits; a vendor that takes longer to begin or to end a list is not well. */
const timeoutUsualMs = 10_000;

/** The longest list that is known takes a megabyte. */
const answerBytesMax = 16 * 1024 * 1024;

/** Asks vendors for their models as calls would ask them: with the operator's key, headers and parameters. */
export function createListingAsker(
  protocols: Readonly<Record<string, Protocol>>,
  timeoutMs = timeoutUsualMs,
): (upstream: Upstream) => Promise<VendorListing> {
  const http = createHttpClient({ bodyTimeoutMs: timeoutMs, silenceTimeoutMs: timeoutMs, answerBytesMax });
  return async (upstream) => {
    const protocol = protocols[upstream.protocol];
    const listing = protocol?.listing;
    if (!protocol || !listing) return { kind: "no_listing" };

    const outcome = await ask(upstream, listing, http, timeoutMs);
    if (outcome.kind === "no_answer") return { kind: "unclear", why: noAnswer[outcome.reason] };
    const { status } = outcome;
    const json = jsonIn(roughTextOf(outcome.body));
    if (aboutOurKey.has(status) || protocol.isAboutOperator?.(status, json) === true)
      return { kind: "key_refused", status };
    if (!isSuccessStatus(status))
      return { kind: "unclear", why: `its list of models is answered with ${status}` };
    const listed = listing.read(json);
    if (!listed) return { kind: "unclear", why: "what it answers is no list of models" };

    // Some vendors show their models to the whole world: a key is proven only where nobody gets them without it.
    const keyless =
      upstream.key === "" ? undefined : await ask({ ...upstream, key: "" }, listing, http, timeoutMs);
    return {
      kind: "listed",
      models: new Set(listed.models),
      complete: listed.complete,
      forAnybody: keyless?.kind === "answered" && isSuccessStatus(keyless.status),
    };
  };
}

const ask = (
  upstream: Upstream,
  { path, headers }: Listing,
  http: HttpClient,
  timeoutMs: number,
): Promise<HttpOutcome> =>
  http.send({
    url: upstream.url + path,
    query: upstream.query?.text,
    method: "GET",
    headers: requestHeaders(upstream, { accept: "application/json", hasBody: false, headers }),
    body: undefined,
    firstByteTimeoutMs: timeoutMs,
  });

const noAnswer = {
  unreachable: "it cannot be reached",
  timeout: "it takes too long to answer",
  cut_off: "it breaks off its answer",
  redirect: "it redirects elsewhere, and no key is sent there",
  too_large: "its answer is too long for a list of models",
  malformed: "its answer is not HTTP",
  gateway_stopped: "nobody waits for it any more",
} as const;
