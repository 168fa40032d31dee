// The program itself under streams: what it keeps in memory, and what it settles before it stops.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import type { StreamScript } from "../doubles/scripted-answer.ts";
import { openGatewayProcess } from "../support/gateway-process.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { hear, requestIdOf, talk, text, useAskedStreams } from "./asked-streams.ts";
import { dialects } from "./dialects.ts";
import { lastInBook, models, usageInBook } from "./model-vendors.ts";
import { openStreamCaller, type StreamCaller } from "./stream-caller.ts";
import { testStore } from "../support/test-data.ts";

const { vendors } = await useAskedStreams();

const leftStreams = Number(process.env["TOLLGATE_LEFT_STREAMS"] ?? 1_000);

// On Postgres it is started elsewhere (nodes.services.test.ts).
describe.skipIf(testStore !== "sqlite")("the program itself", () => {
  const installations: {
    folder: string;
    signal: (signal: NodeJS.Signals) => void;
    exited: Promise<number>;
  }[] = [];

  afterAll(async () => {
    for (const { folder, signal, exited } of installations) {
      signal("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    }
  });

  async function openProgram(onCallerLeft: "drain" | "abort") {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-streams-"));
    const more = `tiers: { free: { rpm: 1000000, tpm: 1000000000, concurrency: 1000 } }\nsignup_credit_usd: 1000\nsandbox: off`;
    const program = await openGatewayProcess({
      dataFolder: folder,
      config: vendors.config({ onCallerLeft, more }),
    });
    installations.push({ folder, signal: program.signal, exited: program.exited });
    const { key } = program;
    const account: TestAccount = { accountId: "", keyId: "", key };
    const request = {
      account,
      path: "/v1/chat/completions",
      body: dialects.openai.body(talk, models.openai, true),
    };
    return {
      ...program,
      folder,
      key,
      open: (script: StreamScript): StreamCaller => {
        vendors.doubles.openai.answerNext({ kind: "stream", ...script });
        return openStreamCaller(Number(new URL(program.url).port), request);
      },
      residentBytes: (): number => {
        const { stdout } = Bun.spawnSync(["ps", "-o", "rss=", "-p", String(program.pid)]);
        return Number(stdout.toString().trim()) * 1024;
      },
      heldMicros: async (): Promise<number> => {
        const headers = { authorization: `Bearer ${key}` };
        const response = await fetch(`${program.url}/v1/credits/balance`, { headers });
        return ((await response.json()) as { held_micros_usd: number }).held_micros_usd;
      },
    };
  }

  test("keeps little of an endless stream for a caller who does not read", async () => {
    const program = await openProgram("abort");
    const eventsSent = (): number => lastInBook(vendors.doubles.openai).stream?.events ?? 0;
    const openUnread = async () => {
      const caller = program.open({ fault: "endless" });
      await caller.untilFrames(1);
      caller.pause();
      const seconds = [eventsSent()];
      while (seconds.length < 10 && seconds.at(-1) !== seconds.at(-2)) {
        await Bun.sleep(1_000);
        seconds.push(eventsSent());
      }
      // The vendor was made to wait: it can send no more, and what it sent is in the kernel's buffers, not in ours.
      expect(seconds.at(-1)).toBe(seconds.at(-2));
      return caller;
    };
    // Tens of thousands of events make a program grow once, until it is compiled and its garbage was collected.
    const before = await openUnread();
    before.leave();
    await until(async () => (await program.heldMicros()) === 0, 5_000);
    const residentBefore = program.residentBytes();

    const caller = await openUnread();
    const grownBytes = program.residentBytes() - residentBefore;
    expect(grownBytes).toBeLessThan(16 * 1024 * 1024);
    // And it was the vendor's turn to wait: nothing was given up, and it goes on as soon as the caller reads.
    const sent = eventsSent();
    caller.resume();
    await until(() => eventsSent() > sent, 5_000);
    caller.leave();
    await until(async () => (await program.heldMicros()) === 0, 5_000);
    // The vendor learns that nobody listens any more.
    await until(() => lastInBook(vendors.doubles.openai).stream?.left === true, 5_000);
  });

  test(`does not grow with streams that are left: ${leftStreams} of them`, async () => {
    const program = await openProgram("abort");
    const leaveMany = async (count: number): Promise<void> => {
      let left = count;
      const leaveNext = async (): Promise<void> => {
        while (left-- > 0) {
          const caller = program.open({ fault: "stall", afterEvents: 3 });
          await caller.untilFrames(1 + (left % 3));
          caller.leave(left % 2 === 0 ? "close" : "reset");
        }
      };
      await Promise.all(Array.from({ length: 20 }, leaveNext));
      await until(async () => (await program.heldMicros()) === 0, 5_000);
    };
    // What so many leave behind for the collector at a time is there once; a leak would be there again.
    await leaveMany(Math.min(1_000, leftStreams));
    const residentBefore = program.residentBytes();
    await leaveMany(leftStreams);
    // What the last of them left is let go a moment later.
    await until(() => program.residentBytes() - residentBefore < 24 * 1024 * 1024, 5_000);
    await until(() => vendors.doubles.openai.connections().open < 50, 5_000);
  });

  test("that is told to stop lets a stream end, settles it, and then stops", async () => {
    const program = await openProgram("drain");
    const caller = program.open({ everyMs: 30 });
    await caller.untilFrames(2);
    program.signal("SIGTERM");
    await Bun.sleep(50);
    const late = fetch(`${program.url}/healthz`).catch(() => "refused");
    expect(await caller.ended).toBe(true);
    expect(hear(caller, "openai")).toMatchObject({ text, stop: "end" });
    expect(caller.frames().at(-1)).toStartWith(": tollgate ");
    expect(await program.exited).toBe(0);
    expect(await late).toBe("refused");

    const store = openSqliteStore({ path: join(program.folder, "tollgate.db") });
    expect((await store.auditor.audit()).findings).toEqual([]);
    const [account] = await store.accounts.list();
    expect(account?.heldMicros).toBe(0n);
    const booked = await store.calls.find(account?.id ?? "", requestIdOf(caller));
    expect(booked).toMatchObject({ state: "settled", usageSource: "provider" });
    expect(booked?.used).toEqual(usageInBook(lastInBook(vendors.doubles.openai)));
    await store.close();
  });
});
