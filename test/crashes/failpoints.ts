// Named moments in the life of a call at which something can go wrong, reached by standing between the
// gateway's own parts. The product has no switches for this; the wrappers live here.

import type { GatewayParts } from "../../gateway/src/gateway.ts";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import {
  createHttpClient,
  type HttpClient,
  type HttpStream,
} from "../../gateway/src/upstreams/http/http-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import type { TaskEnd } from "../../gateway/src/ledger/task-record.ts";

export const failpoints = [
  "auth.done",
  "limit.taken",
  "hold.before_commit",
  "hold.after_commit",
  "dispatch.before",
  "dispatch.sent",
  "upstream.end",
  "settle.before_commit",
  "settle.after_commit",
  "respond.before_end",
] as const;

/** Moments that only a streamed answer has. */
export const streamFailpoints = ["upstream.headers", "upstream.first_byte", "upstream.mid"] as const;

/** Moments that only a task has: the vendor took it, its id is written down, its end is seen, its end is booked. */
export const taskFailpoints = [
  "task.created_upstream",
  "task.begun",
  "task.terminal_seen",
  "task.settled",
] as const;

export type Failpoint = (typeof failpoints)[number];
export type StreamFailpoint = (typeof streamFailpoints)[number];
export type TaskFailpoint = (typeof taskFailpoints)[number];
type AnyFailpoint = Failpoint | StreamFailpoint | TaskFailpoint;

/** Time for a request to reach the upstream, which is made slow to answer. */
const untilSentMs = 400;

/** Parts in which `act` runs whenever a call passes the failpoint. */
export function withFailpoint(parts: GatewayParts, at: AnyFailpoint, act: () => void): GatewayParts {
  const pass = (here: AnyFailpoint): void => {
    if (here === at) act();
  };
  const { ledger, keys, tasks } = parts.store;

  const httpClient = createHttpClient();
  const http: Pick<HttpClient, "open" | "send"> = {
    open: async (request) => {
      const outcome = await httpClient.open(request);
      if (outcome.kind !== "streaming") return outcome;
      pass("upstream.headers");
      let pieces = 0;
      const start: HttpStream["start"] = (reader) =>
        outcome.start({
          onEnd: (ending) => reader.onEnd(ending),
          onPiece: (piece) => {
            pieces++;
            if (pieces === 1) pass("upstream.first_byte");
            if (pieces === 3) pass("upstream.mid");
            reader.onPiece(piece);
          },
        });
      return {
        kind: "streaming",
        status: outcome.status,
        start,
        pause: () => outcome.pause(),
        resume: () => outcome.resume(),
        leave: () => outcome.leave(),
      };
    },
    send: async (request) => {
      pass("dispatch.before");
      const answering = httpClient.send(request);
      if (at === "dispatch.sent") await Bun.sleep(untilSentMs);
      pass("dispatch.sent");
      const outcome = await answering;
      pass("upstream.end");
      return outcome;
    },
  };
  const ask: HttpClient["ask"] = async (request, mayStream, reader) =>
    reader.read(await (mayStream ? http.open : http.send)(request));
  const around = async <Result>(
    before: AnyFailpoint,
    after: AnyFailpoint,
    step: () => Promise<Result>,
  ): Promise<Result> => {
    pass(before);
    const result = await step();
    pass(after);
    return result;
  };

  /** The end of a task that its vendor had is a moment of its own. */
  const ending = <Result>(task: TaskEnd | undefined, step: () => Promise<Result>): Promise<Result> =>
    task && task.state !== "REFUSED"
      ? around("task.terminal_seen", "task.settled", step)
      : around("settle.before_commit", "settle.after_commit", step);

  return {
    ...parts,
    forwarder: createForwarder({ ...httpClient, ...http, ask }, protocols),
    limiter: {
      ...parts.limiter,
      take: async (wants) => {
        const take = await parts.limiter.take(wants);
        pass("limit.taken");
        return take;
      },
    },
    store: {
      ...parts.store,
      keys: {
        ...keys,
        findCredential: async (hash, nowMs) => {
          const credential = await keys.findCredential(hash, nowMs);
          pass("auth.done");
          return credential;
        },
      },
      ledger: {
        ...ledger,
        hold: (request) => around("hold.before_commit", "hold.after_commit", () => ledger.hold(request)),
        settle: (end) => ending(end.task, () => ledger.settle(end)),
        release: (end) => ending(end.task, () => ledger.release(end)),
      },
      tasks: {
        ...tasks,
        begin: (begun) => around("task.created_upstream", "task.begun", () => tasks.begin(begun)),
      },
    },
  };
}
