// What the sandbox has promised (videos, their links, cached answers, linked accounts) outlasts a stop of the server, and
// the death of the sandbox alone.

import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GatewayProcess } from "../support/gateway-process.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { followPath } from "../links/linking.ts";
import { callerAt } from "../support/caller.ts";
import { tagPath } from "../support/purchases.ts";
import { allToldBy, openStarts, type Starts } from "./operator-starts.ts";
import { createTask, poll, quick, video, videoMicros } from "../tasks/task-caller.ts";
import { testStore } from "../support/test-data.ts";
import { agree, createVisitor, startLink, type Seen, type Visitor } from "../support/visitor.ts";

const starting: Starts[] = [];
afterAll(() => Promise.all(starting.map(({ close }) => close())));

// A node of a Postgres need not have a place to write, so its sandbox forgets.
describe.skipIf(testStore !== "sqlite")("what the sandbox promised is kept", () => {
  test.concurrent("when the server is stopped and started again", async () => {
    const { starts, server, promised } = await openPromises();
    server.signal("SIGTERM");
    await server.exited;
    const again = await starts.start({ port: Number(new URL(server.url).port) });
    await expectKept(again, promised);
  }, 30_000);

  test.concurrent("when the sandbox alone is killed", async () => {
    const { server, promised } = await openPromises();
    process.kill(sandboxOf(server), "SIGKILL");
    await until(() => server.stderr().includes("the sandbox stopped and is started again"));
    await until(async () => (await fetch(promised.cacheUrl)).status !== 502);
    await expectKept(server, promised);
  }, 30_000);
});

test.skipIf(testStore !== "sqlite")(
  "a file of the sandbox that cannot be used is told in the log, in its form",
  async () => {
    const starts = openStarts();
    starting.push(starts);
    writeFileSync(
      join(starts.folder, "tollgate.db.sandbox"),
      "something else that somebody put here".repeat(99),
    );
    const server = await starts.start();
    await until(() => server.stderr().includes("The sandbox forgets its work"));
    const lines = (await allToldBy(server)).trim().split("\n");
    const told = lines.map((line) => JSON.parse(line) as { readonly event: string; readonly words?: string });
    const said = told.find(({ event }) => event === "the sandbox says");
    expect(said?.words).toContain("tollgate.db.sandbox cannot be used");
  },
);

interface Promised {
  readonly account: TestAccount;
  readonly videoUrl: string;
  readonly cacheUrl: string;
  readonly openTaskId: string;
  /** A person has come from an `auth_url` to this page, and has not agreed yet. */
  readonly visit: { readonly visitor: Visitor; readonly page: Seen };
}

async function openPromises() {
  const starts = openStarts();
  starting.push(starts);
  const server = await starts.start({ flags: ["--json"] });
  const facts = JSON.parse(server.greeting) as { account_id: string; key_id: string; key: string };
  const account = { accountId: facts.account_id, keyId: facts.key_id, key: facts.key };
  const at = callerAt(server.url);

  const finished = await createTask(at, account, video(quick));
  const cached = await at.call(account, tagPath);
  const linking = createVisitor();
  const linked = await linking.open(await agree(linking, (await startLink(at, account)).auth_url));
  expect([linked.status, (await follow(server, account)).status]).toEqual([200, 200]);

  const visitor = createVisitor();
  const promised: Promised = {
    account,
    videoUrl: await videoUrlOf(server, account, finished.output.task_id),
    cacheUrl: ((await cached.json()) as { cache_url: string }).cache_url,
    visit: { visitor, page: await visitor.open((await startLink(at, account)).auth_url) },
    openTaskId: (await createTask(at, account, video("[queued 0] [running 2000] a red fox"))).output.task_id,
  };
  expect(await balanceOf(server, account)).toMatchObject({ held_micros_usd: videoMicros });
  return { starts, server, promised };
}

async function expectKept(server: GatewayProcess, promised: Promised): Promise<void> {
  const { account, videoUrl, cacheUrl, openTaskId, visit } = promised;
  expect([(await fetch(videoUrl)).status, (await fetch(cacheUrl)).status]).toEqual([200, 200]);
  expect((await follow(server, account)).status).toBe(200);

  const consent = await visit.visitor.submit(visit.page, { person: "ben" });
  const linked = await visit.visitor.submit(consent, { decision: "allow" });
  expect(linked.status).toBe(200);
  expect(linked.text).toContain("@ben");

  expect((await fetch(await videoUrlOf(server, account, openTaskId))).status).toBe(200);
  const [reseller, follows] = [1_450, 2 * 10_000];
  expect(await balanceOf(server, account)).toMatchObject({
    balance_micros_usd: 2_000_000 - 2 * videoMicros - reseller - follows,
    held_micros_usd: 0,
  });
}

/** Asks until the video is ready. */
async function videoUrlOf(server: GatewayProcess, account: TestAccount, taskId: string): Promise<string> {
  let url: string | undefined;
  await until(async () => {
    await Bun.sleep(500);
    url = (await poll(callerAt(server.url), account, taskId)).output.video_url;
    return url !== undefined;
  });
  return url ?? "";
}

const follow = (server: GatewayProcess, account: TestAccount): Promise<Response> =>
  callerAt(server.url).post(account, followPath, { target_user_id: "6253282" });

const balanceOf = async (server: GatewayProcess, account: TestAccount): Promise<unknown> =>
  (await callerAt(server.url).call(account, "/v1/credits/balance")).json();

/** The one program that the server has started. */
function sandboxOf({ pid }: GatewayProcess): number {
  const { stdout } = Bun.spawnSync(["ps", "-A", "-o", "pid=,ppid="]);
  const child = stdout
    .toString()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .find(([, parent]) => parent === pid);
  return child?.[0] ?? Number.NaN;
}
