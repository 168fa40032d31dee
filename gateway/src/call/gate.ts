import type { Credentials } from "../keys/credentials.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { Books } from "../operation/books.ts";
import type { Forwarder } from "../operation/upstream.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";

/** The parts the life of a call is made of. */
export interface Gate {
  readonly credentials: Credentials;
  readonly limiter: Limiter;
  readonly ledger: Ledger;
  readonly forwarder: Forwarder;
  readonly books: Books;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}
