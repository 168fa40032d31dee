// kill -9 at each step of a task's creation and of its end, then a start on the same data: one task at the vendor,
// one charge or one release, and books that add up.

import { describe, expect, test } from "bun:test";
import { callerAt } from "../support/caller.ts";
import { openFailpointProgram, openSuccessor, type FailpointProgram } from "./failpoint-program.ts";
import { withFailpoint, type Failpoint, type TaskFailpoint } from "./failpoints.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import {
  asynchronous,
  create,
  createPath,
  createTask,
  poll,
  quick,
  shiftedClock,
  stuck,
  taskPath,
  video,
  videoMicros,
  type Resource,
} from "../tasks/task-caller.ts";

const dayMs = 86_400_000;
const pollAheadMs = 60_000;

/** The vendor's side, what the next process knows, and what a day later is charged. */
interface Fate {
  readonly atVendor: 0 | 1;
  readonly retried: "anew" | "in doubt" | "PENDING";
  readonly charged: boolean;
}

const whileCreating: Readonly<Partial<Record<Failpoint | TaskFailpoint, Fate>>> = {
  "hold.before_commit": { atVendor: 0, retried: "anew", charged: true },
  // From here on nobody can prove that nothing was sent: it is never sent again, and held until its deadline.
  "hold.after_commit": { atVendor: 0, retried: "in doubt", charged: false },
  "dispatch.before": { atVendor: 0, retried: "in doubt", charged: false },
  "dispatch.sent": { atVendor: 1, retried: "in doubt", charged: false },
  "upstream.end": { atVendor: 1, retried: "in doubt", charged: false },
  "task.created_upstream": { atVendor: 1, retried: "in doubt", charged: false },
  "task.begun": { atVendor: 1, retried: "PENDING", charged: true },
  "respond.before_end": { atVendor: 1, retried: "PENDING", charged: true },
};

describe("a process killed while it creates a task", () => {
  for (const [name, fate] of Object.entries(whileCreating)) {
    test(`at ${name} neither loses nor doubles it`, async () => {
      const { home, account } = await openHome();
      try {
        if (name === "dispatch.sent") await home.sandbox.fault({ vendor: "dashscope", latency_ms: 1_200 });
        const doomed = await openFailpointProgram(home, name as Failpoint);
        await send(doomed, account).catch(() => {});
        expect(await doomed.exited).toBe(137);
        await home.sandbox.settled();
        expect(await creations(home)).toBe(fate.atVendor);

        const next = await openSuccessor(home);
        const retry = await send(next, account);
        const told = (await retry.json()) as object;
        expect([retry.status, told]).toMatchObject(
          fate.retried === "in doubt"
            ? [409, { error: { code: "outcome_unknown" }, original: { status: "unknown" } }]
            : [200, { output: { task_status: "PENDING" } }],
        );
        // Whatever happened, the vendor was asked at most once, and the same is told again.
        expect(await creations(home)).toBe(fate.retried === "anew" ? 1 : fate.atVendor);
        const again = (await (await send(next, account)).json()) as object;
        expect({ ...again, request_id: "" }).toEqual({ ...told, request_id: "" });
        expect((await home.balance(account)).held).toBe(videoMicros);
        expect(await home.audit()).toEqual([]);
        await next.close();

        // Later it is charged once if its vendor has it and we know, and else its hold goes back at the deadline.
        const later = await openSuccessor(home, { aheadMs: fate.charged ? pollAheadMs : dayMs });
        await until(async () => (await home.balance(account)).held === 0);
        await expectOnce(home, account, fate.charged);
        await later.close();
      } finally {
        await home.close();
      }
    });
  }
});

describe("a process killed while it ends a task", () => {
  for (const [prompt, charged] of [[quick, true] as const, [`${quick} [fails]`, false] as const]) {
    for (const failpoint of ["task.terminal_seen", "task.settled"] as const) {
      const what = charged ? "succeeded" : "failed";
      test(`that ${what} at ${failpoint} books it once`, async () => {
        const { home, account } = await openHome();
        try {
          const first = await openFailpointProgram(home, undefined);
          const created = (await (await send(first, account, prompt)).json()) as Resource;
          first.kill("SIGKILL");
          await first.exited;
          // Its worker meets the end of the task at once, and dies of it.
          const doomed = await openFailpointProgram(home, failpoint, { aheadMs: pollAheadMs });
          expect(await doomed.exited).toBe(137);
          expect((await home.balance(account)).held).toBe(failpoint === "task.settled" ? 0 : videoMicros);

          const next = await openSuccessor(home, { aheadMs: 2 * pollAheadMs });
          await until(async () => (await home.balance(account)).held === 0);
          const headers = { authorization: `Bearer ${account.key}` };
          const seen = await fetch(next.url + taskPath(created.output.task_id), { headers });
          expect(((await seen.json()) as Resource).output.task_status).toBe(charged ? "SUCCEEDED" : "FAILED");
          await expectOnce(home, account, charged);
          await next.close();
        } finally {
          await home.close();
        }
      });
    }
  }
});

describe("a part that throws once", () => {
  test("when the vendor's id is to be written is not the end of the task", async () => {
    const { tollgate, account, clock } = await openThrowing("task.created_upstream");
    try {
      expect((await create(tollgate, account, video(quick), key)).status).toBe(503);
      await until(async () => {
        const again = await create(tollgate, account, video(quick), key);
        return again.status === 200;
      });
      clock.forward(10_000);
      await until(async () => (await tollgate.balance(account)).held === 0);
      await expectOnce(tollgate, account, true);
    } finally {
      await tollgate.close();
    }
  });

  test("when a creation in doubt is to be written down is not its last word: it takes no place", async () => {
    let thrown = 0;
    const tollgate = await openTestGateway({
      wrap: (parts) => {
        const { tasks } = parts.store;
        const lose: typeof tasks.lose = (taskId, attempts) =>
          thrown++ === 0 ? Promise.reject(new Error("a part failed")) : tasks.lose(taskId, attempts);
        return { ...parts, store: { ...parts.store, tasks: { ...tasks, lose } } };
      },
    });
    try {
      const account = await tollgate.openAccount({ creditUsd: "5" });
      await tollgate.sandbox.fault({ vendor: "dashscope", mode: "close", times: 1 });
      expect((await create(tollgate, account, video(stuck))).status).toBe(502);
      await until(async () => (await tollgate.store.tasks.countOpen(account.keyId)) === 0);
      expect(await tollgate.balance(account)).toEqual({ balance: 5_000_000, held: videoMicros });
      const others = await Promise.all([1, 2, 3].map(() => create(tollgate, account, video(stuck))));
      expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(await tollgate.audit()).toEqual([]);
    } finally {
      await tollgate.close();
    }
  });

  for (const failpoint of ["task.terminal_seen", "task.settled"] as const) {
    test(`at ${failpoint} leaves the end to the next who asks`, async () => {
      const { tollgate, account, clock } = await openThrowing(failpoint);
      try {
        const { output } = await createTask(tollgate, account, video(quick));
        clock.forward(10_000);
        await poll(tollgate, account, output.task_id);
        // The claim has to run out before somebody else may ask.
        clock.forward(40_000);
        await until(async () => (await tollgate.balance(account)).held === 0);
        await expectOnce(tollgate, account, true);
      } finally {
        await tollgate.close();
      }
    });
  }
});

describe("a stall of a minute", () => {
  for (const failpoint of [
    "task.created_upstream",
    "task.begun",
    "task.terminal_seen",
    "task.settled",
  ] as const) {
    test(`at ${failpoint} changes nothing: one task, one charge`, async () => {
      const clock = shiftedClock();
      const tollgate = await openTestGateway({
        clock,
        wrap: (parts) => withFailpoint(parts, failpoint, () => clock.forward(60_000)),
      });
      try {
        const account = await tollgate.openAccount();
        await createTask(tollgate, account, video(quick));
        clock.forward(10_000);
        await until(async () => (await tollgate.balance(account)).held === 0);
        await expectOnce(tollgate, account, true);
      } finally {
        await tollgate.close();
      }
    });
  }
});

const key = { "idempotency-key": "once" };

async function openThrowing(failpoint: TaskFailpoint) {
  const clock = shiftedClock();
  let thrown = 0;
  const tollgate = await openTestGateway({
    clock,
    wrap: (parts) =>
      withFailpoint(parts, failpoint, () => {
        if (thrown++ === 0) throw new Error("a part failed");
      }),
  });
  return { tollgate, clock, account: await tollgate.openAccount() };
}

/** Lends its data and its sandbox; its own worker must not help. */
async function openHome(): Promise<{ home: TestGateway; account: TestAccount }> {
  const home = await openTestGateway();
  await home.gateway.stop();
  return { home, account: await home.openAccount() };
}

const send = (
  { url }: Pick<FailpointProgram, "url">,
  account: TestAccount,
  prompt = quick,
): Promise<Response> => callerAt(url).post(account, createPath, video(prompt), { ...asynchronous, ...key });

const creations = async (home: TestGateway): Promise<number> =>
  (await home.sandbox.book()).filter(({ path }) => path.endsWith("/video-synthesis")).length;

async function expectOnce(home: TestGateway, account: TestAccount, charged: boolean): Promise<void> {
  expect(await creations(home)).toBeLessThanOrEqual(1);
  expect(await home.balance(account)).toEqual({
    balance: 2_000_000 - (charged ? videoMicros : 0),
    held: 0,
  });
  expect(await home.audit()).toEqual([]);
}
