import type { Dispatch, Exchanged, Forwarder } from "../operation/upstream.ts";
import type { HttpClient, HttpOutcome } from "./http-client.ts";
import type { Exchange, Protocol } from "./protocol.ts";
import { readRetryAfterSeconds } from "./retry-after.ts";

/** Speaks to upstreams in their own protocols. Only what is listed here leaves; no header of the caller's does. */
export function createForwarder(http: HttpClient, protocols: Readonly<Record<string, Protocol>>): Forwarder {
  return {
    dispatch: async (dispatch) => {
      const { upstream, service } = dispatch;
      const protocol = protocols[upstream.protocol];
      const exchange = protocol?.exchanges[service.exchange];
      if (!protocol || !exchange) {
        throw new Error(`The protocol ${upstream.protocol} has no exchange "${service.exchange}".`);
      }
      const request = exchange.request(dispatch);
      const outcome = await http.send({
        url: upstream.url + request.path,
        method: request.method,
        headers: {
          accept: "application/json",
          "accept-encoding": "identity",
          "user-agent": "tollgate",
          "x-request-id": dispatch.callId,
          ...(request.body === undefined ? {} : { "content-type": "application/json" }),
          ...keyHeader(protocol, upstream.key),
        },
        body: request.body,
        firstByteTimeoutMs: upstream.timeoutMs ?? dispatch.firstByteTimeoutMs,
      });
      return exchangedOf(outcome, exchange, dispatch);
    },
  };
}

/** An upstream without a key, such as a model on this machine, gets no empty one. */
const keyHeader = (protocol: Protocol, key: string): Record<string, string> =>
  key === "" ? {} : Object.fromEntries([protocol.keyHeader(key)]);

/** Statuses that speak about the operator's key or plan, never about the caller. */
const aboutOurKey: ReadonlySet<number> = new Set([401, 402, 403]);

function exchangedOf(outcome: HttpOutcome, exchange: Exchange, dispatch: Dispatch): Exchanged {
  if (outcome.kind === "no_answer") return outcome;
  const { status, contentType, body } = outcome;
  if (status === 429) {
    const { retryAfter, date } = outcome;
    return { kind: "rate_limited", status: 429, retryAfterSeconds: readRetryAfterSeconds(retryAfter, date) };
  }
  if (aboutOurKey.has(status)) return { kind: "key_rejected", status };
  // An upstream that repeats our key back to us must not pass it on to the caller.
  if (repeats(dispatch.upstream.key, body, contentType)) return { kind: "key_rejected", status };

  const json = parse(body);
  const answer = { status, json };
  const asItCame = { kind: "answered", status, contentType, body, answer, tokens: undefined } as const;
  if (status < 200 || status > 299 || json === undefined) return asItCame;
  const reading = exchange.read(json, dispatch);
  if (reading.json === undefined) return { ...asItCame, tokens: reading.tokens };
  return {
    ...asItCame,
    contentType: "application/json",
    body: Buffer.from(JSON.stringify(reading.json)),
    tokens: reading.tokens,
  };
}

/** Shorter keys occur in ordinary text; no vendor issues them. */
const keyLengthMin = 8;

const repeats = (key: string, body: Uint8Array, contentType: string | undefined): boolean =>
  key.length >= keyLengthMin &&
  (Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(key) ||
    contentType?.includes(key) === true);

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(body));
  } catch {
    return undefined;
  }
}

const decoder = new TextDecoder();
