import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../../test/support/until.ts";
import { openReloads, type ReloadEnd } from "./reload-on-change.ts";

/** Reloads that end when they are told to. */
function createReload() {
  const running: ((end: ReloadEnd) => void)[] = [];
  const counts = { begun: 0, most: 0 };
  const reload = (): Promise<ReloadEnd> =>
    new Promise((resolve) => {
      counts.begun++;
      running.push(resolve);
      counts.most = Math.max(counts.most, running.length);
    });
  const end = async (as: ReloadEnd = "over"): Promise<void> => {
    running.shift()?.(as);
    await Bun.sleep(0);
  };
  return { counts, reload, end };
}

/** These tests are about the signal alone. */
const nowhere = join(import.meta.dir, "no-such-file");
function beginReloads(reload: () => Promise<ReloadEnd>): () => void {
  const reloads = openReloads(nowhere, () => []);
  reloads.begin(reload);
  return reloads.stop;
}
const signal = (): void => void process.emit("SIGHUP");

test("reloads follow one another, and all that is wanted meanwhile is one more", async () => {
  const { counts, reload, end } = createReload();
  const stop = beginReloads(reload);
  for (let times = 0; times < 5; times++) signal();
  expect(counts).toEqual({ begun: 1, most: 1 });
  await end();
  expect(counts).toEqual({ begun: 2, most: 1 });
  await end();
  expect(counts.begun).toBe(2);
  signal();
  expect(counts).toEqual({ begun: 3, most: 1 });
  await end();
  stop();
});

test("what is wanted before they begin is one reload when they do", async () => {
  const { counts, reload, end } = createReload();
  const reloads = openReloads(nowhere, () => []);
  signal();
  signal();
  expect(counts.begun).toBe(0);
  reloads.begin(reload);
  expect(counts.begun).toBe(1);
  await end();
  expect(counts.begun).toBe(1);
  reloads.stop();
});

test("a file that changes after they were opened and before they begin is reloaded", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-reloads-"));
  const file = join(folder, "file");
  writeFileSync(file, "before");
  const reloads = openReloads(file, () => []);
  writeFileSync(file, "after");
  const { counts, reload, end } = createReload();
  reloads.begin(reload);
  await until(() => counts.begun === 1);
  await end();
  reloads.stop();
  rmSync(folder, { recursive: true });
});

test("a file of a secret that changes is a reload, also one that the file names only since it changed, until a stop", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-reloads-"));
  const file = join(folder, "file");
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  writeFileSync(file, first);
  writeFileSync(first, "before");
  const reloads = openReloads(file, () => [readFileSync(file, "utf8")]);
  const { counts, reload, end } = createReload();
  reloads.begin(reload);
  const reloadedAfter = async (path: string, text: string): Promise<void> => {
    const { begun } = counts;
    writeFileSync(path, text);
    await until(() => counts.begun > begun);
    await end();
  };
  await reloadedAfter(first, "after");
  await reloadedAfter(file, second);
  writeFileSync(first, "which nobody reads any more");
  // It was not there until now.
  await reloadedAfter(second, "after");
  expect(counts).toEqual({ begun: 3, most: 1 });
  reloads.stop();
  writeFileSync(second, "after the stop");
  await Bun.sleep(1_300);
  expect(counts.begun).toBe(3);
  rmSync(folder, { recursive: true });
});

test("a stop ends it, also for what was wanted before, and is not itself ended by the signal", async () => {
  const { counts, reload, end } = createReload();
  const listening = process.listenerCount("SIGHUP");
  const stop = beginReloads(reload);
  signal();
  signal();
  stop();
  await end();
  signal();
  expect(counts.begun).toBe(1);
  expect(process.listenerCount("SIGHUP")).toBe(listening + 1);
});

test("one that is to be tried again is, after a growing pause, until it is over", async () => {
  const { counts, reload, end } = createReload();
  const stop = beginReloads(reload);
  signal();
  await end("again");
  expect(counts.begun).toBe(1);
  await until(() => counts.begun === 2);
  const againAtMs = performance.now();
  await end("again");
  await until(() => counts.begun === 3);
  expect(performance.now() - againAtMs).toBeGreaterThan(900);
  await end();
  await Bun.sleep(1_200);
  expect(counts).toEqual({ begun: 3, most: 1 });
  stop();
});

test("a newer change does not wait for the next try, and takes its place; a stop ends the tries", async () => {
  const { counts, reload, end } = createReload();
  const stop = beginReloads(reload);
  signal();
  await end("again");
  signal();
  expect(counts.begun).toBe(2);
  await end();
  await Bun.sleep(700);
  expect(counts.begun).toBe(2);
  signal();
  await end("again");
  stop();
  await Bun.sleep(700);
  expect(counts.begun).toBe(3);
});
