import type { Dispatch, Exchanged, Forwarder } from "../operation/upstream.ts";
import type { HttpClient, HttpOutcome } from "./http-client.ts";
import type { Exchange, Protocol } from "./protocol.ts";

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
      const [keyName, keyValue] = protocol.keyHeader(upstream.key);
      const outcome = await http.send({
        url: upstream.url + request.path,
        method: request.method,
        headers: {
          accept: "application/json",
          "accept-encoding": "identity",
          "user-agent": "tollgate",
          "x-request-id": dispatch.callId,
          ...(request.body === undefined ? {} : { "content-type": "application/json" }),
          [keyName]: keyValue,
        },
        body: request.body,
        firstByteTimeoutMs: upstream.timeoutMs ?? dispatch.firstByteTimeoutMs,
      });
      return exchangedOf(outcome, exchange, dispatch);
    },
  };
}

/** Statuses that speak about the operator's key or plan, never about the caller. */
const aboutOurKey: ReadonlySet<number> = new Set([401, 402, 403]);

function exchangedOf(outcome: HttpOutcome, exchange: Exchange, dispatch: Dispatch): Exchanged {
  if (outcome.kind === "no_answer") return outcome;
  const { status, contentType, body } = outcome;
  if (status === 429)
    return { kind: "rate_limited", retryAfterSeconds: retryAfterSeconds(outcome.retryAfter) };
  if (aboutOurKey.has(status)) return { kind: "key_rejected", status };

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

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(body));
  } catch {
    return undefined;
  }
}

const decoder = new TextDecoder();

const retryAfterMaxSeconds = 3_600;

/** Seconds as a vendor wrote them; dates and nonsense count as unsaid. */
function retryAfterSeconds(written: string | undefined): number | undefined {
  if (written === undefined || !/^\d{1,9}$/.test(written.trim())) return undefined;
  return Math.min(Math.max(1, Number(written)), retryAfterMaxSeconds);
}
