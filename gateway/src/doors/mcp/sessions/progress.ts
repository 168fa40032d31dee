import type { ProgressNotification, ProgressToken, ServerContext } from "@modelcontextprotocol/server";
import { objectOrEmpty } from "../../../platform/json.ts";
import { toolNames } from "../tools/tools.ts";

/** Often enough for a client that gives up on silence, seldom enough not to flood it. */
const everyMs = 3_000;

/** Tells a client that asked for it that the work goes on. */
export async function withProgress<Result>(ctx: ServerContext, work: () => Promise<Result>): Promise<Result> {
  // A session does it itself: there a request goes on while its person is asked, between two rounds of work.
  if (ctx.sessionId !== undefined) return work();
  const end = beginProgress(ctx.mcpReq._meta?.progressToken, ctx.mcpReq.notify);
  try {
    return await work();
  } finally {
    end();
  }
}

/** Tells of progress until the returned function is called. The figures only ever grow. */
export function beginProgress(
  progressToken: ProgressToken | undefined,
  notify: (progress: ProgressNotification) => Promise<void>,
): () => void {
  if (progressToken === undefined) return () => {};
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += everyMs / 1000;
    const params = { progressToken, progress: seconds, message: `running for ${seconds} s` };
    // A client that has gone hears nothing; the work goes on all the same.
    notify({ method: "notifications/progress", params }).catch(() => {});
  }, everyMs);
  return () => clearInterval(timer);
}

/** The token under which a client wants to hear of progress. Tools that are not ours tell it themselves. */
export function progressTokenIn(message: unknown): ProgressToken | undefined {
  const { params } = objectOrEmpty(message);
  const { name, _meta: meta } = objectOrEmpty(params);
  const { progressToken: token } = objectOrEmpty(meta);
  const isOurs = toolNames.some((one) => one === name);
  return isOurs && (typeof token === "string" || typeof token === "number") ? token : undefined;
}
