import { countCharge } from "../ledger/count-charge.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { isOfStore } from "../ledger/store-errors.ts";
import { valuePico } from "../prices/terms.ts";
import { emptyInput } from "../operation/call-input.ts";
import type { ExchangeName, Service } from "../operation/service.ts";
import { type Exchanged, isSuccess } from "../operation/exchanged.ts";
import type { Forwarder } from "../operation/forwarder.ts";
import type { Upstream } from "../operation/upstream.ts";
import { withheldReason } from "../operation/withheld-refusal.ts";
import type { Clock } from "../platform/clock.ts";
import { describeError, type Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import { createTaskExpiry } from "./expire-tasks.ts";
import { createPollQuota, type PollQuota } from "./poll-quota.ts";
import { readTaskReport } from "./read-task-report.ts";
import { createSilenceNews } from "./silence-news.ts";
import type { TaskBook } from "./task-book.ts";
import { pollPauseMs, stepFor, type Step } from "./task-rules.ts";
import type { PlacedTask, Task } from "../ledger/task-record.ts";

/** An upstream that has tasks, and where it is asked about them. */
export interface TaskUpstream {
  readonly upstream: Upstream;
  readonly tasksPath: string;
}

/** Asks vendors about tasks and books what they say, for whoever wants to know: a caller, or time itself. */
export interface TaskDesk {
  /**
   * The task as it is now; asks its vendor first when the pace allows. Undefined for whoever does not own it. Throws only
   * where the books could not be read, before anybody was asked anything.
   */
  readonly look: (accountId: string, taskId: string) => Promise<Task | undefined>;
  /** As above. */
  readonly cancel: (accountId: string, taskId: string) => Promise<CancelResult>;
  /** Claims tasks that are due at an upstream, within its quota and `limit`, and begins to ask about them. */
  readonly askDue: (at: TaskUpstream, limit: number) => Promise<readonly Promise<void>[]>;
  readonly isServedBySandbox: (task: Task) => boolean;
  /** Gives back the holds of tasks that reached their deadline without a verdict, and tells of those that must reach it. */
  readonly expire: () => Promise<void>;
}

interface Looked {
  readonly task: Task | undefined;
  /** Nobody was asked, because somebody else is asking. */
  readonly isClaimed?: true;
}

type CancelResult =
  | { readonly kind: "looked"; readonly task: Task | undefined }
  | { readonly kind: "refused"; readonly exchanged: Exchanged; readonly upstream: Upstream };

interface Parts {
  readonly tasks: TaskBook;
  readonly ledger: Ledger;
  readonly forwarder: Forwarder;
  /** Where tasks of this upstream are asked about now; undefined when the configuration lost it. */
  readonly upstreamOf: (name: string) => TaskUpstream | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Hears what the store does not take or give, which is the same for all tasks. */
  readonly storeNews: {
    readonly failed: (what: string, error: unknown, about: { readonly task_id: string }) => void;
  };
  readonly metrics: Metrics;
  readonly leaseMs?: number;
}

/** A claim outlives the slowest answer we wait for; whoever dies with one delays its task by no more than this. */
const leaseUsualMs = 30_000;
const answerTimeoutMs = 10_000;
/**
 * A cancellation waits this long each time for somebody else who is just asking; by the second time most vendors have
 * answered.
 */
const claimWaitsMs = [100, 200, 400, 800] as const;

export function createTaskDesk(parts: Parts): TaskDesk {
  const { tasks, ledger, clock, log, metrics, leaseMs = leaseUsualMs } = parts;
  const tellSilence = createSilenceNews(log);
  const quotas = new Map<string, { readonly pollQps: number; readonly quota: PollQuota }>();

  const quotaOf = ({ name, pollQps }: Upstream): PollQuota => {
    const known = quotas.get(name);
    if (known?.pollQps === pollQps) return known.quota;
    const quota = createPollQuota(pollQps, clock.monotonicMs);
    quotas.set(name, { pollQps, quota });
    return quota;
  };

  /** Asks about a claimed task and writes down what is learnt. */
  const ask = async (task: PlacedTask): Promise<void> => {
    const { upstream: name, taskId: upstreamTaskId } = task.at;
    const at = parts.upstreamOf(name);
    const exchanged = at && (await send(task, at, "task_poll", parts));
    const json = exchanged && isSuccess(exchanged) ? exchanged.answer.json : undefined;
    const report = readTaskReport(json, upstreamTaskId);
    metrics.count("tollgate_task_polls_total", {
      upstream: name,
      outcome: report.kind === "state" ? report.status : "no_verdict",
    });
    const missing = exchanged?.kind === "answered" && exchanged.status === 404;
    const step = stepFor(task, report, { missing, nowMs: clock.wallMs(), random: parts.random });
    if (exchanged) {
      const errors = step.kind === "wait" ? step.note.errors : 0;
      tellSilence({ upstream: at.upstream, exchanged, errors });
    }
    if (step.kind === "wait") await tasks.note(step.note);
    else await bookEnd(task, step);
  };

  /** The end of the task and of its call are one transaction; whoever comes second changes nothing. */
  const bookEnd = async (task: PlacedTask, { end, used }: Extract<Step, { kind: "end" }>): Promise<void> => {
    const { callId, operationId, attempts, terms, at } = task;
    const ending = { callId, attempts, httpStatus: 200, settledAtMs: clock.wallMs(), task: end };
    const resolved = used
      ? await ledger.settle({
          ...ending,
          outcome: end.state === "SUCCEEDED" ? "succeeded" : "failed",
          used: used.used,
          usageSource: used.source,
          valuePico: valuePico(used.used, terms),
        })
      : await ledger.release({ ...ending, outcome: "failed" });
    countCharge(resolved, { callId, operationId, upstream: at.upstream }, parts);
    if (end.report?.code === withheldReason.code) {
      const event = "a task failed because of the operator's key, account or quota; its vendor can say more";
      log.error(event, { task_id: task.id, upstream: at.upstream, upstream_task_id: at.taskId });
    }
  };

  /** What cannot be written now is asked again when the claim has run out. */
  const askSafely = async (task: PlacedTask): Promise<void> => {
    try {
      await ask(task);
    } catch (error) {
      tell("a task could not be followed", error, task.id);
    }
  };

  const lookOnce = async (accountId: string, taskId: string, pauseMs: number): Promise<Looked> => {
    const task = await tasks.find(accountId, taskId);
    const at = task?.at && parts.upstreamOf(task.at.upstream);
    const nowMs = clock.wallMs();
    const notAskedSinceMs = nowMs - pauseMs;
    if (!task || task.endedAtMs !== undefined || !at || task.askedAtMs > notAskedSinceMs) return { task };
    if (task.errors > 0 && task.nextPollAtMs > nowMs) return { task };
    if (!quotaOf(at.upstream).take()) return { task };
    const claimed = await claimSafely({ taskId, nowMs, leaseMs, notAskedSinceMs });
    if (claimed === "not_written") return { task };
    if (!claimed) return { task, isClaimed: true };
    await askSafely(claimed);
    return { task: await knownOf(tasks.find(accountId, taskId), task) };
  };

  const cancel = async (accountId: string, taskId: string): Promise<CancelResult> => {
    const task = await tasks.find(accountId, taskId);
    const at = task?.at && parts.upstreamOf(task.at.upstream);
    if (!task?.at || task.endedAtMs !== undefined || !at) return { kind: "looked", task };
    const exchanged = await send({ callId: task.callId, at: task.at }, at, "task_cancel", parts);
    if (!isSuccess(exchanged)) return { kind: "refused", exchanged, upstream: at.upstream };
    // The vendor agreed; whether and at what price it stopped, only its own word about the task tells.
    await tasks.hurry(taskId, clock.wallMs()).catch((error: unknown) =>
      log.warn("a cancelled task is asked about in its turn", {
        task_id: taskId,
        ...describeError(error),
      }),
    );
    return { kind: "looked", task: await knownOf(lookAfterCancel(accountId, taskId), task) };
  };

  /**
   * What was heard before the vendor agreed is out of date, however recent: the vendor is asked now, without a pause, and
   * nobody else's answer is used.
   */
  const lookAfterCancel = async (accountId: string, taskId: string): Promise<Task | undefined> => {
    for (const waitMs of claimWaitsMs) {
      const { task, isClaimed } = await lookOnce(accountId, taskId, 0);
      if (!isClaimed) return task;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    return (await lookOnce(accountId, taskId, 0)).task;
  };

  /** The vendor has been asked by then; that the books cannot be read any more does not change that. */
  const knownOf = (looking: Promise<Task | undefined>, known: Task): Promise<Task | undefined> =>
    looking.catch((error: unknown) => {
      tell("a task could not be looked at again", error, known.id);
      return known;
    });

  /** Whoever asks while nothing can be written hears what is known. */
  const claimSafely = async (
    wanted: Parameters<TaskBook["claim"]>[0],
  ): Promise<PlacedTask | "not_written" | undefined> => {
    try {
      return await tasks.claim(wanted);
    } catch (error) {
      tell("a task could not be claimed", error, wanted.taskId);
      return "not_written";
    }
  };

  const tell = (what: string, error: unknown, taskId: string): void => {
    if (isOfStore(error)) parts.storeNews.failed(what, error, { task_id: taskId });
    else log.error(what, { task_id: taskId, ...describeError(error) });
  };

  const askDue: TaskDesk["askDue"] = async (at, limit) => {
    const quota = quotaOf(at.upstream);
    const nowMs = clock.wallMs();
    const free = Math.min(limit, quota.free());
    const due = free > 0 ? await tasks.countDue({ upstream: at.upstream.name, nowMs, limit: free }) : 0;
    let taken = 0;
    while (taken < due && quota.take()) taken++;
    if (taken === 0) return [];
    const claimed = await tasks.claimDue({ upstream: at.upstream.name, nowMs, leaseMs, limit: taken });
    return claimed.map(askSafely);
  };

  return {
    look: async (accountId, taskId) => (await lookOnce(accountId, taskId, pollPauseMs)).task,
    isServedBySandbox: ({ at }) =>
      at !== undefined && parts.upstreamOf(at.upstream)?.upstream.sandbox === true,
    cancel,
    askDue,
    expire: createTaskExpiry(parts),
  };
}

/** One question about one task. Its input is the vendor's id and nothing of the caller's. */
async function send(
  { callId, at }: Pick<PlacedTask, "callId" | "at">,
  { upstream, tasksPath: path }: TaskUpstream,
  exchange: Extract<ExchangeName, "task_poll" | "task_cancel">,
  { forwarder, clock }: Parts,
): Promise<Exchanged> {
  const service: Service = { exchange, path };
  const prepared = forwarder.prepare({
    callId,
    upstream: { ...upstream, timeoutMs: Math.min(upstream.timeoutMs ?? answerTimeoutMs, answerTimeoutMs) },
    service,
    input: { ...emptyInput, params: { task_id: at.taskId } },
    forwarded: {},
    model: undefined,
    streaming: false,
    createdSeconds: Math.floor(clock.wallMs() / 1000),
    firstByteTimeoutMs: answerTimeoutMs,
  });
  if (prepared.kind === "unsayable") throw new Error(`A task cannot be asked about: ${prepared.message}`);
  return prepared.send();
}
