// Where features meet: people who signed a client in, tasks that outlive their calls, approvals, linked accounts, and
// agents that use all of them. Each promise here belongs to two rooms at once.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { useTool, type ToolResult } from "../agents/agent-client.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createPerson, signInWith } from "../sign-in/oauth-person.ts";
import { codeOf } from "../support/answers.ts";
import { create, createTask, poll, quick, stuck, useTaskGateway, video, videoMicros } from "./task-caller.ts";
import { agree, createVisitor } from "../support/visitor.ts";

const dayMs = 24 * 60 * 60_000;
const { clock, gateway, rich, reaches } = await useTaskGateway();

/** The account as a client sees it that its person signed in: the same, with a token in place of the key. */
async function signedIn(
  account: TestAccount,
  fields: Record<string, string> = {},
  at: TestGateway = gateway,
): Promise<TestAccount> {
  const { access_token: key } = await signInWith(at.url, account.key, fields);
  return { ...account, key };
}

const statusOf = async (account: TestAccount, taskId: string): Promise<string> =>
  (await poll(gateway, account, taskId)).output.task_status;

const grantOf = async (account: TestAccount) => {
  const [grant] = await gateway.store.grants.list(account.accountId);
  if (!grant) throw new Error("Nobody signed in.");
  return grant;
};

const utcDay = (): number => clock.wallMs() - (clock.wallMs() % dayMs);

describe("a task of a client that was signed in", () => {
  test("counts against the day it began in while it is open, and when it ends after midnight", async () => {
    clock.forward(dayMs - (clock.wallMs() % dayMs) - 60_000);
    const account = await rich();
    const client = await signedIn(account, { per_day_usd: "1" });
    const { id } = await grantOf(account);
    const dayBefore = utcDay();
    const first = await createTask(gateway, client, video(quick));
    await createTask(gateway, client, video(stuck));
    const refused = await create(gateway, client, video(stuck));
    expect([refused.status, await codeOf(refused)]).toEqual([402, "budget_exceeded"]);

    clock.forward(2 * 60_000);
    expect(utcDay()).toBe(dayBefore + dayMs);
    await createTask(gateway, client, video(stuck));
    await reaches(client, first.output.task_id, "SUCCEEDED");
    const micros = BigInt(videoMicros);
    expect(await gateway.store.grants.dayUse(id, dayBefore)).toEqual({
      spentMicros: micros,
      heldMicros: micros,
    });
    expect(await gateway.store.grants.dayUse(id, utcDay())).toEqual({ spentMicros: 0n, heldMicros: micros });
  });

  test("ends and is charged once although the grant was revoked, the key too, and the account suspended", async () => {
    const ends: readonly ((account: TestAccount) => Promise<unknown>)[] = [
      async (account) => gateway.store.grants.revoke((await grantOf(account)).id, clock.wallMs()),
      (account) => gateway.store.keys.revoke(account.keyId, clock.wallMs()),
      (account) => gateway.store.accounts.update(account.accountId, { suspended: true }),
    ];
    for (const end of ends) {
      const account = await rich();
      const client = await signedIn(account);
      const created = await createTask(gateway, client, video(quick));
      await end(account);
      // Nobody may be able to ask any more; time does.
      clock.forward(60_000);
      await until(async () => (await gateway.balance(account)).held === 0);
      expect(await gateway.balance(account)).toEqual({ balance: 20_000_000 - videoMicros, held: 0 });
      expect(created.output.task_status).toBe("PENDING");
      const again = await create(gateway, client, video(quick));
      expect([401, 403]).toContain(again.status);
    }
  });

  test("belongs to the account: its key sees it, and either repeats its creation under one idempotency key", async () => {
    const account = await rich();
    const client = await signedIn(account);
    const once = { "idempotency-key": "one-film" };
    const created = await createTask(gateway, client, video(stuck), once);
    expect((await createTask(gateway, account, video(stuck), once)).output.task_id).toBe(
      created.output.task_id,
    );
    expect(await statusOf(account, created.output.task_id)).toMatch(/PENDING|RUNNING/);
    const stranger = await signedIn(await rich());
    expect(await statusOf(stranger, created.output.task_id)).toBe("UNKNOWN");
    expect((await gateway.balance(account)).held).toBe(videoMicros);
  });

  test("keeps its hold, its day and its approval through a start anew", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-again-"));
    const dead = await openTestGateway({ folder, clock });
    const account = await dead.openAccount({ creditUsd: "20" });
    const client = await signedIn(account, { per_call_usd: "0.1" }, dead);
    const asked = await use(dead, client, dearVideo(stuck));
    const handle = asked.structuredContent["approval"] as { approval_id: string; url: string };
    await approve(dead, account, handle.url);
    const made = await use(dead, client, { ...dearVideo(stuck), approval_id: handle.approval_id });
    expect(made.structuredContent["status"]).toBe("accepted");
    await dead.close();

    const alive = await openTestGateway({ folder, clock });
    expect((await alive.balance(account)).held).toBe(videoMicros);
    const [grant] = await alive.store.grants.list(account.accountId);
    const day = await alive.store.grants.dayUse(grant?.id ?? "", utcDay());
    expect(day).toEqual({ spentMicros: 0n, heldMicros: BigInt(videoMicros) });
    expect(await alive.audit()).toEqual([]);
    await alive.close();
    rmSync(folder, { recursive: true, force: true });
  });
});

const videoCall = (prompt: string, max: number) => ({
  operation_id: "video.synthesis.create",
  arguments: video(prompt),
  max_price_usd: max,
});
const dearVideo = (prompt: string) => videoCall(prompt, 0.5);

const use = (at: TestGateway, { key }: TestAccount, given: object, name = "use"): Promise<ToolResult> =>
  useTool(`${at.url}/mcp`, key, name, given);

async function approve(at: TestGateway, account: TestAccount, url: string): Promise<void> {
  const person = createPerson(at.url, account.key);
  let page = await person.open(url);
  if (page.html.includes('name="key"')) {
    page = await person.submit(page, { action: "sign_in", key: account.key });
  }
  await person.submit(page, { action: "approve" });
}

const toldCode = ({ structuredContent }: ToolResult): unknown =>
  (structuredContent["error"] as { code?: string } | undefined)?.code;

describe("an agent", () => {
  test("has its tasks counted in the total of a batch at the most they can cost", async () => {
    const account = await rich();
    const batch = (count: number): Promise<ToolResult> => {
      const calls = Array.from({ length: count }, () => videoCall(stuck, 0.6));
      return use(gateway, account, { calls, max_total_price_usd: 1.2 }, "batch_use");
    };
    const statuses = ({ structuredContent }: ToolResult): string[] =>
      (structuredContent["results"] as { status: string }[]).map(({ status }) => status);
    const tooDear = await batch(3);
    expect(toldCode(tooDear)).toBe("price_cap_exceeded");
    expect(statuses(tooDear)).toEqual(["refused", "refused", "refused"]);
    expect((await gateway.balance(account)).held).toBe(0);
    expect(statuses(await batch(2))).toEqual(["accepted", "accepted"]);
    expect((await gateway.balance(account)).held).toBe(2 * videoMicros);
  });

  test("makes one task with one approval, and keeps the approval when too many tasks are open", async () => {
    const account = await rich();
    const client = await signedIn(account, { per_call_usd: "0.1" });
    const asked = await use(gateway, client, dearVideo(quick));
    expect(asked.structuredContent["status"]).toBe("approval_required");
    const { approval_id, url } = asked.structuredContent["approval"] as { approval_id: string; url: string };
    await approve(gateway, account, url);
    const open = [];
    for (let index = 0; index < 3; index++) open.push(await createTask(gateway, account, video(quick)));
    const full = await use(gateway, client, { ...dearVideo(quick), approval_id });
    expect(toldCode(full)).toBe("quota_exceeded");
    for (const { output } of open) await reaches(account, output.task_id, "SUCCEEDED");

    const tries = await Promise.all(
      Array.from({ length: 8 }, () => use(gateway, client, { ...dearVideo(quick), approval_id })),
    );
    const statuses = tries.map(({ structuredContent }) => structuredContent["status"]);
    expect(statuses.filter((status) => status === "accepted")).toHaveLength(1);
    expect(statuses.filter((status) => status === "refused")).toHaveLength(7);
    expect((await gateway.balance(account)).held).toBe(videoMicros);
  });

  test("cancels a task of its account, not of another", async () => {
    const account = await rich();
    const client = await signedIn(account);
    const { output } = await createTask(gateway, account, video(stuck));
    const cancel = { operation_id: "tasks.cancel", arguments: { task_id: output.task_id }, max_price_usd: 0 };
    const foreign = await use(gateway, await signedIn(await rich()), cancel);
    expect(foreign.structuredContent["result"]).toMatchObject({ output: { task_status: "UNKNOWN" } });
    const done = await use(gateway, client, cancel);
    expect(done.structuredContent["status"]).toBe("completed");
    await reaches(account, output.task_id, "CANCELED");
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000, held: 0 });
  });

  test("follows with the account that was linked to the key of the sign-in", async () => {
    const account = await rich();
    const client = await signedIn(account);
    const follow = {
      operation_id: "social_a.follow",
      arguments: { target_user_id: "42" },
      max_price_usd: 0.1,
    };
    expect(toldCode(await use(gateway, client, follow))).toBe("link_required");
    const begun = await use(gateway, client, {
      operation_id: "social_a.link.start",
      arguments: {},
      max_price_usd: 0,
    });
    const { auth_url: authUrl } = begun.structuredContent["result"] as { auth_url: string };
    // What an agent begins is confirmed by its person here before the platform is asked.
    const visitor = createVisitor();
    const confirmed = await visitor.submit(await visitor.open(authUrl));
    const onward = /<a href="([^"]+)" rel="noreferrer"/.exec(confirmed.text)?.[1] ?? "";
    const page = await visitor.open(await agree(visitor, onward.replaceAll("&amp;", "&")));
    expect(page.text).toContain("Account linked");
    expect((await use(gateway, client, follow)).structuredContent["status"]).toBe("completed");
    const links = (await (await gateway.call(account, "/apis/v1/social_a/links")).json()) as {
      data: { key_id: string }[];
    };
    expect(links.data.map(({ key_id }) => key_id)).toEqual([account.keyId]);
  });
});
