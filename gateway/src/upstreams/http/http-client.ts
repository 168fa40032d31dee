import { systemClock } from "../../platform/clock.ts";
import { createDeadlines } from "../../platform/deadlines.ts";
import { createConnectionPool, type PoolLimits } from "./connection-pool.ts";
import type { Connection } from "./connection.ts";
import {
  HttpExchange,
  noAnswer,
  type ExchangeParts,
  type HttpOutcome,
  type OutcomeReader,
} from "./exchange.ts";
import type { HttpStream } from "./http-stream.ts";
import { createTargetFinder } from "./origin.ts";
import { writeRequest, type OutgoingRequest } from "./request-bytes.ts";
import type { ResponseReader } from "./response-reader.ts";

export type { HttpOutcome, OutcomeReader } from "./exchange.ts";
export type { HttpStream } from "./http-stream.ts";

/** Sends one request and reads one answer, whatever the other side does. */
export interface HttpClient {
  readonly send: (request: OutgoingRequest) => Promise<HttpOutcome>;
  /** As `send`, but a 2xx answer of server-sent events is handed over as it comes. */
  readonly open: (request: OutgoingRequest) => Promise<HttpOutcome | HttpStream>;
  /** As one of these, for whoever wants something else than the outcome: it is read as soon as it is there. */
  readonly ask: <Read>(
    request: OutgoingRequest,
    mayStream: boolean,
    reader: OutcomeReader<HttpOutcome | HttpStream, Read>,
  ) => Promise<Read>;
  /** Waits for nobody any more: what was asked and is not answered, and every stream, ends as `gateway_stopped`, and nothing else leaves. */
  readonly giveUp: () => void;
}

type Limits = ExchangeParts["limits"] & PoolLimits;

export const usualLimits: Limits = {
  answerBytesMax: 64 * 1024 * 1024,
  // A server that is there answers within a second, from anywhere; for one that is not, the system may go on trying for two
  // minutes.
  connectTimeoutMs: 5_000,
  // Models that think say nothing for minutes, and some vendors send blank lines until a whole answer is ready.
  silenceTimeoutMs: 5 * 60_000,
  bodyTimeoutMs: 15 * 60_000,
  // A model that thinks for longer has begun all the same, and its caller is told so.
  openingWaitMs: 2_000,
  pauseTimeoutMs: 15 * 60_000,
  // An upstream that keeps sending is listened to: half an answer is paid for, and helps nobody. This bound is for one that
  // never ends.
  streamTimeoutMs: 2 * 60 * 60_000,
  connectionsMax: 20_000,
  idleMaxPerOrigin: 256,
  idleMs: 4_000,
};

/**
 * HTTP/1.1 of our own, because `fetch` sends a GET a second time when a kept-alive connection closes under it, does not
 * say whether anything was sent, and knows no streams that push.
 */
export function createHttpClient(changes: Partial<Limits> = {}): HttpClient {
  const limits = { ...usualLimits, ...changes };
  const { monotonicMs } = systemClock;
  const pool = createConnectionPool(limits, monotonicMs);
  const targetOf = createTargetFinder();
  const deadlines = createDeadlines(monotonicMs);
  let hasGivenUp = false;

  const release = (connection: Connection, { head, hasExcess }: ResponseReader): void => {
    // What comes unasked, or lies unsent, would be taken for a part of the next exchange.
    if (hasExcess || connection.hasUnsent || head?.keepAlive !== true) connection.close();
    else pool.giveBack(connection, head.keepAliveSeconds);
  };
  const parts: ExchangeParts = {
    limits,
    pool,
    release,
    deadlines,
    hasGivenUp: () => hasGivenUp,
  };

  const ask: HttpClient["ask"] = (request, mayStream, reader) => {
    const target = targetOf(request.url);
    const bytes = writeRequest(request, target);
    const asked = Promise.withResolvers<ReturnType<typeof reader.read>>();
    if (hasGivenUp) asked.resolve(reader.read(noAnswer("gateway_stopped", false)));
    else if (bytes === undefined) asked.resolve(reader.read(noAnswer("unreachable", false)));
    else new HttpExchange({ request, origin: target.origin, bytes, mayStream, reader, asked }, parts).begin();
    return asked.promise;
  };

  return {
    send: (request) => ask(request, false, asWhole),
    open: (request) => ask(request, true, asItCame),
    ask,
    giveUp: () => {
      hasGivenUp = true;
      deadlines.missAll();
    },
  };
}

const asItCame: OutcomeReader<HttpOutcome | HttpStream, HttpOutcome | HttpStream> = {
  read: (outcome) => outcome,
};

const asWhole: OutcomeReader<HttpOutcome | HttpStream, HttpOutcome> = {
  read: (outcome) => {
    if (outcome.kind === "streaming") throw new Error("A stream came where none was asked for.");
    return outcome;
  },
};
