import { expect, test } from "bun:test";
import { join } from "node:path";
import { until } from "../../../test/support/until.ts";
import { reloadOnChange, type ReloadEnd } from "./reload-on-change.ts";

/** Reloads that end when they are told to. */
function openReloads() {
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
const signal = (): void => void process.emit("SIGHUP");

test("reloads follow one another, and all that is wanted meanwhile is one more", async () => {
  const { counts, reload, end } = openReloads();
  const stop = reloadOnChange(nowhere, reload);
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

test("a stop ends it, also for what was wanted before, and is not itself ended by the signal", async () => {
  const { counts, reload, end } = openReloads();
  const listening = process.listenerCount("SIGHUP");
  const stop = reloadOnChange(nowhere, reload);
  signal();
  signal();
  stop();
  await end();
  signal();
  expect(counts.begun).toBe(1);
  expect(process.listenerCount("SIGHUP")).toBe(listening + 1);
});

test("one that is to be tried again is, after a growing pause, until it is over", async () => {
  const { counts, reload, end } = openReloads();
  const stop = reloadOnChange(nowhere, reload);
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
  const { counts, reload, end } = openReloads();
  const stop = reloadOnChange(nowhere, reload);
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
