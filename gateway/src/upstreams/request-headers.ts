import { sayKey } from "../operation/vendors.ts";
import type { Upstream } from "../operation/upstream.ts";

export type Headers = Readonly<Record<string, string>>;

interface Wanted {
  readonly accept: "application/json" | "text/event-stream";
  readonly hasBody: boolean;
  /** What the protocol adds to this request, and what of the caller's belongs to its dialect. */
  readonly headers?: Headers | undefined;
  /** The token of a linked account, which travels in place of the key. */
  readonly accessToken?: string | undefined;
}

/** All that an upstream hears in the head of a request; nothing else leaves. */
export function requestHeaders(
  upstream: Upstream,
  { accept, hasBody, headers, accessToken }: Wanted,
): Headers {
  const all: Record<string, string> = {
    accept,
    "accept-encoding": "identity",
    "user-agent": "tollgate",
  };
  if (hasBody) all["content-type"] = "application/json";
  if (headers) Object.assign(all, headers);
  if (upstream.headers) addOperators(all, upstream.headers);
  if (accessToken !== undefined) all["authorization"] = `Bearer ${accessToken}`;
  // An upstream without a key, such as a model on this machine, gets no empty one.
  else if (upstream.key !== "") all[upstream.keyHeader] = sayKey(upstream.keyHeader, upstream.key);
  return all;
}

/** The operator's word stands before the protocol's; a list of features is joined, so that callers keep theirs. */
function addOperators(all: Record<string, string>, operators: Headers): void {
  const callers = all[featureList];
  Object.assign(all, operators);
  const own = operators[featureList];
  if (own !== undefined && callers !== undefined) all[featureList] = `${own},${callers}`;
}

const featureList = "anthropic-beta";
