import { isJsonObject } from "../../../platform/json.ts";
import { CommandFailed, defineCommand, optional } from "../command.ts";
import { fieldLines } from "../output.ts";
import { readFigure } from "../values.ts";
import { withClient } from "./open-client.ts";

const waitUsualSeconds = 300;
const usualSeconds = { least: 20, most: 90 };
const barWidth = 30;
/** How often we ask about a task that was made and whose vendor does not know it; that may be so for a moment. */
const unknownPollsMax = 3;

export const watch = defineCommand({
  words: ["watch"],
  operand: "TASK_ID",
  summary: "waits for a task and shows how it ends; exit code 1 when it did not succeed",
  flags: {
    "timeout-seconds": optional("N", `how long to wait; ${waitUsualSeconds} when absent, the task goes on`),
  },
  run: async ({ operand, flags }, parts) => {
    const seconds = readFigure("timeout-seconds", flags["timeout-seconds"] ?? String(waitUsualSeconds));
    const givingUp = new AbortController();
    const task = await withClient(parts, (client) =>
      client.waitForTask(operand, {
        timeoutMs: seconds * 1000,
        signal: givingUp.signal,
        onProgress: ({ status, polls, waitedMs, task }) => {
          if (status === "UNKNOWN" && (!wasMade(task) || polls === unknownPollsMax)) givingUp.abort();
          else parts.showProgress(progressLine(status, Math.round(waitedMs / 1000)));
        },
      }),
    )
      .catch((error: unknown) => {
        if (!givingUp.signal.aborted) throw error;
        throw new CommandFailed(`Nothing is known of a task ${operand} here; is it this key's account's?`);
      })
      .finally(() => parts.showProgress(undefined));
    const { output } = task;
    return {
      lines: fieldLines({
        task: output.task_id,
        status: output.task_status,
        ...(output.video_url === undefined ? {} : { video: output.video_url }),
        ...(output.code === undefined ? {} : { reason: `${output.code}: ${output.message ?? ""}` }),
      }),
      json: task,
      exitCode: output.task_status === "SUCCEEDED" ? 0 : 1,
    };
  },
});

/** Only a task of this account that is on the books has a time at which it was made. */
const wasMade = (task: unknown): boolean =>
  isJsonObject(task) && isJsonObject(task["output"]) && task["output"]["submit_time"] !== undefined;

/** Tasks do not tell how far they are; what can be shown is how much of the time that most take has passed. */
function progressLine(status: string, waitedSeconds: number): string {
  const filled = Math.min(barWidth, Math.round((waitedSeconds / usualSeconds.most) * barWidth));
  const bar = "█".repeat(filled) + "░".repeat(barWidth - filled);
  const usual = `${usualSeconds.least} to ${usualSeconds.most} s are usual`;
  return `${status.padEnd(9)} ${bar} ${waitedSeconds} s (${usual})`;
}
