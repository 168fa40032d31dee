// The other half of the composition root, for whoever serves: it chooses the limiter, the upstreams' client and the listener.

import { lookup } from "node:dns/promises";
import { beginCounters } from "./host/begin-counters.ts";
import { bodyRoomBytesUsual } from "./host/memory-rooms.ts";
import { createDocumentFetch } from "./host/fetch-document.ts";
import { claimed } from "./host/installation.ts";
import { createListen } from "./host/listen.ts";
import { openLogOutput } from "./host/log-output.ts";
import { tellRecovery } from "./ledger/tell-recovery.ts";
import type { Limiter } from "./limits/limiter.ts";
import { systemBytes } from "./platform/chance.ts";
import { systemClock } from "./platform/clock.ts";
import { createLog, describeError, type Log } from "./platform/log.ts";
import { createMetrics, type Metrics } from "./platform/metrics.ts";
import { serve, type ServeParts } from "./serve.ts";
import { createStoreNews } from "./store/store-news.ts";
import { broughtForward, type DataPlace } from "./stores/data-place.ts";
import { createMemoryLimiter } from "./stores/memory-limiter.ts";
import { openSoftLimiter } from "./stores/redis/soft-limiter.ts";
import { createForwarder } from "./upstreams/forwarder.ts";
import { createHttpClient } from "./upstreams/http/http-client.ts";
import { createPlatformClient } from "./upstreams/platform-client.ts";
import { protocols } from "./upstreams/protocols.ts";

/** What whoever starts it knows already. */
type StartParts = Pick<
  ServeParts,
  | "settings"
  | "environment"
  | "projectFolder"
  | "version"
  | "readCatalogue"
  | "allowSandboxPublic"
  | "secrets"
  | "newId"
  | "greet"
  | "reloads"
> & { readonly data: DataPlace };

/** Serves until told to stop. Resolves with the exit code. */
export async function startServer(parts: StartParts): Promise<number> {
  const { settings, data, secrets } = parts;
  const metrics = createMetrics();
  beginCounters(metrics);
  const logOutput = openLogOutput(process.stderr, {
    onLost: () => metrics.count("tollgate_log_lines_lost_total"),
    onCaughtUp: (lines) => log.warn("lines are missing here, because nobody read this log", { lines }),
  });
  const { logLevel: level } = settings;
  const log = createLog({ level, nowMs: systemClock.wallMs, write: logOutput.write });
  if (settings.store.kind === "postgres") log.hide(settings.store.secrets);
  const limits = await openLimits(parts, log, metrics);
  const { monotonicMs } = systemClock;
  const storeNews = createStoreNews({ ping: () => store.ping(), monotonicMs, log });
  const { store: opened, leave } = await data.openForServing({
    onCommit: (writes) => {
      metrics.count("tollgate_ledger_commits_total");
      metrics.count("tollgate_ledger_writes_total", undefined, writes);
    },
    onBrokenDisk: (error) => {
      log.error("the disk failed; stopping, because nobody knows what is on it", describeError(error));
      process.exit(brokenDiskExitCode);
    },
    onBroughtForward: (schemas) => log.warn(broughtForward(schemas)),
    onLostNote: (what, error) => storeNews.failed(`${what} could not be written`, error),
    onRecovered: (recovery) => tellRecovery(recovery, { log, metrics }),
    onNodesSeen: limits.seeNodes,
  });
  const store = await claimed(opened, secrets);
  const httpClient = createHttpClient();
  try {
    return await serve({
      ...parts,
      store,
      storeNews,
      limiter: limits.limiter,
      forwarder: createForwarder(httpClient, protocols),
      leaveUpstreams: httpClient.giveUp,
      platformClient: createPlatformClient(httpClient),
      clock: systemClock,
      randomBytes: systemBytes,
      fetchDocument: createDocumentFetch({
        resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
      }),
      bodyRoomBytes: bodyRoomBytesUsual(),
      log,
      metrics,
      listen: createListen({
        onFull: ({ waiting, newcomers, unread }) => {
          if (waiting + newcomers > 0)
            log.warn(
              "more connections than this process may have; those that waited longest were ended, and newcomers where none waited",
              { ended: waiting, newcomers_ended: newcomers },
            );
          if (unread > 0)
            log.warn(
              "more unread answers than there is room for; those of whoever left most unread were broken off",
              {
                broken_off: unread,
              },
            );
        },
        newId: parts.newId,
        onBug: (error, requestId) =>
          log.error("an answer failed unexpectedly", { request_id: requestId, ...describeError(error) }),
      }),
    });
  } finally {
    await limits.close();
    await store.close();
    leave();
    await logOutput.taken();
  }
}

/** Tells a supervisor to start again: recovery then reads what really is on the disk. */
const brokenDiskExitCode = 70;

interface Limits {
  readonly limiter: Limiter;
  /** How many nodes the limits are for, by the books: Redis may be away, and a node must not take itself for the only one. */
  readonly seeNodes: (count: number) => void;
  readonly close: () => Promise<void>;
}

/** A Redis that is not there is no reason not to start; one that does not accept us is. */
async function openLimits(
  { settings: { limits }, secrets, newId }: Pick<StartParts, "settings" | "secrets" | "newId">,
  log: Log,
  metrics: Metrics,
): Promise<Limits> {
  const { monotonicMs } = systemClock;
  if (limits.kind === "memory")
    return { limiter: createMemoryLimiter(monotonicMs), seeNodes: () => {}, close: async () => {} };
  log.hide(limits.secrets);
  // All nodes of an installation have its secret, and those of another, which count by themselves, have another one.
  const prefix = `tollgate:${secrets.fingerprint.slice(0, 8)}:`;
  const limiter = await openSoftLimiter({
    url: limits.url,
    prefix,
    node: newId(),
    monotonicMs,
    log,
    metrics,
  });
  return { limiter, seeNodes: limiter.seeNodes, close: limiter.close };
}
