// Journeys that money depends on, made again with Postgres instead of SQLite. They are the same files: what is promised
// there is promised whatever the data is kept in.

import { beforeAll, expect, test } from "bun:test";
import { projectFolder } from "../support/project-folder.ts";
import { endingWithUs } from "../services/private-server.ts";

/** Lane by lane, so that all of them end at about the same time: the first, the fourth and so on are one. */
const journeys = [
  "streams/streams",
  "callers/limited-keys",
  "money/spending",
  "callers/call-log",
  "tasks/task-races",
  "nodes/links-at-two-nodes",
  "tasks/video-tasks",
  "sign-in/access-tokens",
  "money/costs",
  "nodes/calls-at-two-nodes",
  "money/idempotency",
  "nodes/agents-at-two-nodes",
  "money/one-truth",
  "streams/left-streams",
  "sign-in/ended-tokens",
  "callers/changed-keys",
] as const;

/** Each waits most of the time, so some are made at once. */
const lanes = 3;
const testTimeoutMs = 60_000;

const made = new Map<string, Promise<Made>>();

beforeAll(() => {
  for (const [index, name] of journeys.entries()) {
    const before = made.get(journeys[index - lanes] ?? "") ?? Promise.resolve();
    made.set(
      name,
      before.then(() => make(name)),
    );
  }
});

test.each(journeys)(
  "%s",
  async (name) => {
    const ended = await made.get(name);
    if (ended?.code !== 0) process.stderr.write(ended?.report ?? "");
    expect(ended?.code).toBe(0);
  },
  2 * testTimeoutMs,
);

interface Made {
  readonly code: number;
  readonly report: string;
}

async function make(name: string): Promise<Made> {
  const words = [process.execPath, "test", "--timeout", String(testTimeoutMs), `./test/${name}.test.ts`];
  const child = Bun.spawn([...endingWithUs("TERM"), ...words], {
    cwd: projectFolder,
    env: { ...process.env, TOLLGATE_TEST_STORE: "postgres" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return { report: await new Response(child.stderr).text(), code: await child.exited };
}
