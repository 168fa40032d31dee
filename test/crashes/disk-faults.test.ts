// A disk that is full, fails or takes long: nobody is told what is not so, and the books are sound afterwards.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { json, type Refused } from "../support/answers.ts";
import { callerAt } from "../support/caller.ts";
import { openGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { snapshotPath } from "../support/purchases.ts";
import { runTollgate } from "../support/run-tollgate.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";

let tollgate: TestGateway;
afterEach(async () => {
  expect(await tollgate.audit()).toEqual([]);
  await tollgate.close();
});

const canMount = process.platform === "linux" && process.getuid?.() === 0;

// A newcomer without root sees this skipped by name; CI has root and fails without it.
describe.skipIf(!canMount && process.env["CI"] === undefined)(
  "a full disk (a small tmpfs, needs root)",
  () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), "tollgate-full-"));
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", folder]);
    });
    afterEach(() => {
      execFileSync("umount", ["-l", folder]);
      rmdirSync(folder);
    });

    test("refuses new calls with 503, still settles those that run, and serves again once there is room", async () => {
      const time = { offsetMs: 0 };
      const monotonicMs = (): number => performance.now() + time.offsetMs;
      const ballastPath = join(folder, "ballast");
      tollgate = await openTestGateway({ folder, store: { ballastPath, monotonicMs } });
      const account = await tollgate.openAccount({ creditUsd: "1000", tier: "enterprise" });
      await tollgate.sandbox.fault({ vendor: "financialdatasets", latency_ms: 1_500, times: 20 });
      const running = Array.from({ length: 20 }, () => tollgate.call(account, snapshotPath));
      await tollgate.sandbox.busyWith(20);

      const filler = fillDisk(folder);
      expect((await Promise.all(running)).map(({ status }) => status)).toEqual(running.map(() => 200));
      // Sooner or later the last pages are used up; from then on nothing new is taken.
      let refused = await tollgate.call(account, snapshotPath);
      for (let sent = 0; sent < 2_000 && refused.status === 200; sent++)
        refused = await tollgate.call(account, snapshotPath);
      expect(refused.status).toBe(503);
      expect((await json<Refused>(refused)).error.code).toBe("billing_unavailable");
      expect(existsSync(ballastPath)).toBe(false);
      const ready = await fetch(`${tollgate.url}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toEqual({ status: "not ready", failing: "store" });
      const asked = (await tollgate.sandbox.book()).length;
      expect((await tollgate.call(account, snapshotPath)).status).toBe(503);
      expect((await tollgate.sandbox.book()).length).toBe(asked);

      rmSync(filler);
      time.offsetMs += 6_000;
      expect((await fetch(`${tollgate.url}/readyz`)).status).toBe(200);
      expect((await tollgate.call(account, snapshotPath)).status).toBe(200);
      const settled = (await tollgate.store.calls.list(account.accountId, { ...everything })).calls.filter(
        ({ state }) => state === "settled",
      ).length;
      await until(async () => (await tollgate.balance(account)).held === 0);
      expect((await tollgate.balance(account)).balance).toBe(1_000_000_000 - settled * 48_000);
    });
  },
);

const everything = {
  limit: 100_000,
  before: undefined,
  operationId: undefined,
  status: undefined,
  keyId: undefined,
};

/** Writes until nothing more fits. */
function fillDisk(folder: string): string {
  const file = join(folder, "filler");
  const handle = openSync(file, "w");
  for (const size of [1024 * 1024, 4096]) {
    try {
      for (;;) writeSync(handle, Buffer.alloc(size));
    } catch {
      // Full for this size; the next one fills the rest.
    }
  }
  closeSync(handle);
  return file;
}

const compiler = Bun.which("cc") ?? Bun.which("gcc");

describe.skipIf((compiler === null || process.platform !== "linux") && process.env["CI"] === undefined)(
  "an fsync (an interposed libc call, needs a C compiler)",
  () => {
    // Where it takes long, it is waited for beside other work.
    test.each([
      ["at once", 0],
      ["after a while", 5],
    ])(
      "that fails %s stops the process with code 70, answers nobody with a lie, and the next start has sound books",
      async (_, takesMs) => {
        tollgate = await openTestGateway();
        const folder = mkdtempSync(join(tmpdir(), "tollgate-fsync-"));
        try {
          const options = {
            dataFolder: folder,
            config: `sandbox: ${tollgate.sandbox.url}`,
            environment: {
              LD_PRELOAD: buildInterposer(folder),
              FSYNC_FAILS_WHEN: join(folder, "broken"),
              FSYNC_TAKES_MS: String(takesMs),
            },
          };
          const first = await openGatewayProcess(options);
          const call = ({ url }: GatewayProcess, asked = snapshotPath): Promise<Response> =>
            callerAt(url).call(first, asked);
          for (let n = 0; n < 3; n++) expect((await call(first)).status).toBe(200);

          writeFileSync(join(folder, "broken"), "");
          const lost = await call(first).then(
            ({ status }) => status,
            () => "no answer",
          );
          expect([503, "no answer"]).toContain(lost);
          expect(await first.exited).toBe(70);

          rmSync(join(folder, "broken"));
          const second = await openGatewayProcess(options);
          expect((await call(second)).status).toBe(200);
          const balance = await call(second, "/v1/credits/balance");
          expect(await balance.json()).toMatchObject({
            balance_micros_usd: 2_000_000 - 4 * 48_000,
            held_micros_usd: 0,
          });
          second.signal("SIGTERM");
          expect(await second.exited).toBe(0);
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      },
    );

    test("that takes long is waited for twice by who pays, and by nobody else", async () => {
      tollgate = await openTestGateway();
      const folder = mkdtempSync(join(tmpdir(), "tollgate-fsync-"));
      try {
        const fsyncMs = 500;
        const slow = await openGatewayProcess({
          dataFolder: folder,
          config: `sandbox: ${tollgate.sandbox.url}`,
          environment: {
            LD_PRELOAD: buildInterposer(folder),
            FSYNC_TAKES_MS: String(fsyncMs),
            FSYNC_TAKES_WHEN: join(folder, "slow"),
          },
        });
        const tookMs = async (address: string): Promise<number> => {
          const startedMs = performance.now();
          const response = await callerAt(slow.url).call(slow, address);
          expect(response.status).toBe(200);
          return performance.now() - startedMs;
        };
        writeFileSync(join(folder, "slow"), "");
        for (let n = 0; n < 2; n++) await tookMs(snapshotPath);

        let isPaid = false;
        const paying = tookMs(snapshotPath).finally(() => (isPaid = true));
        const others: number[] = [];
        while (!isPaid) others.push(await tookMs("/healthz"));
        expect(await paying).toBeGreaterThanOrEqual(2 * fsyncMs);
        // Were the process to stand still for each, there would be three of them at most.
        expect(others.filter((ms) => ms < fsyncMs / 2).length).toBeGreaterThan(10);
        slow.signal("SIGTERM");
        expect(await slow.exited).toBe(0);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });

    test("that fails when a restored file has its name is told: a power cut could take the name away", async () => {
      tollgate = await openTestGateway();
      const folder = mkdtempSync(join(tmpdir(), "tollgate-fsync-"));
      try {
        const backup = join(folder, "backup.db");
        await openSqliteStore({ path: backup }).close();
        const data = join(folder, "data");
        const restored = await runTollgate(["restore", backup], {
          folder,
          environment: {
            TOLLGATE_DATA: data,
            LD_PRELOAD: buildInterposer(folder),
            FSYNC_FAILS_WHEN: join(data, "tollgate.db"),
          },
        });
        expect(restored.code).not.toBe(0);
        expect(restored.errors).toContain("EIO");
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  },
);

/** A library that makes every fsync take longer, always or while a certain file exists, and fail with EIO while another does. */
function buildInterposer(folder: string): string {
  const source = join(folder, "fsync.c");
  const library = join(folder, "fsync.so");
  writeFileSync(
    source,
    `#define _GNU_SOURCE
     #include <dlfcn.h>
     #include <errno.h>
     #include <stdlib.h>
     #include <unistd.h>
     static int is_there(const char *f) { return f && access(f, F_OK) == 0; }
     static int is_slow(void) { const char *f = getenv("FSYNC_TAKES_WHEN"); return !f || is_there(f); }
     static void wait(void) { const char *ms = getenv("FSYNC_TAKES_MS"); if (ms && is_slow()) usleep(1000 * atoi(ms)); }
     static int broken(void) { wait(); return is_there(getenv("FSYNC_FAILS_WHEN")); }
     int fsync(int fd) { int (*real)(int) = dlsym(RTLD_NEXT, "fsync"); if (broken()) { errno = EIO; return -1; } return real(fd); }
     int fdatasync(int fd) { int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync"); if (broken()) { errno = EIO; return -1; } return real(fd); }`,
  );
  execFileSync(compiler ?? "cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]);
  return library;
}
