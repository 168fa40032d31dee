import type { Credentials } from "../keys/credentials.ts";
import type { Attempt } from "../ledger/call-record.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LinkDesk } from "../links/link-desk.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { SelfService } from "../operation/self-service.ts";
import type { Forwarder } from "../operation/forwarder.ts";
import type { Clock } from "../platform/clock.ts";
import type { Deadlines } from "../platform/deadlines.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { TransitMap } from "../platform/transit-map.ts";
import type { PollFloor } from "../tasks/poll-floor.ts";
import type { TaskBook } from "../tasks/task-book.ts";
import type { TaskDesk } from "../tasks/task-desk.ts";
import type { KeptAnswers } from "../routing/kept-answers.ts";
import type { UpstreamHealth } from "../routing/upstream-health.ts";
import type { StoreNews } from "../store/store-news.ts";
import type { Drains } from "./later/drains.ts";
import type { ModelNews } from "./news/model-news.ts";

/** The parts the life of a call is made of. */
export interface Gate {
  readonly credentials: Credentials;
  readonly limiter: Limiter;
  readonly ledger: Ledger;
  readonly tasks: TaskBook;
  readonly desk: TaskDesk;
  readonly pollFloor: PollFloor;
  /** Ours, not the vendor's, and not to be guessed. */
  readonly newTaskId: () => string;
  readonly forwarder: Forwarder;
  readonly health: UpstreamHealth;
  readonly keptAnswers: KeptAnswers;
  readonly links: LinkDesk;
  /** From 0 to 1, 1 excluded: draws among upstreams by weight. */
  readonly random: () => number;
  readonly selfService: SelfService;
  /** What was tried so far for calls that take longer than most; the books hear of it with their end. */
  readonly openAttempts: TransitMap<readonly Attempt[]>;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly log: Log;
  readonly storeNews: StoreNews;
  readonly metrics: Metrics;
  /** Notes that a call is running; returns how to say that it is not any more. A stop waits for all of them. */
  readonly begin: () => () => void;
  readonly drains: Drains;
  readonly modelNews: ModelNews;
}
