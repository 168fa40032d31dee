import type { ServerContext } from "@modelcontextprotocol/server";

/** Often enough for a client that gives up on silence, seldom enough not to flood it. */
const everyMs = 3_000;

/** Tells a client that asked for it that the work goes on. The figures only ever grow. */
export async function withProgress<Result>(ctx: ServerContext, work: () => Promise<Result>): Promise<Result> {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return work();
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += everyMs / 1000;
    const params = { progressToken, progress: seconds, message: `running for ${seconds} s` };
    // A client that has gone hears nothing; the work goes on all the same.
    ctx.mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
