import { expect, test } from "bun:test";
import { watchSilence } from "./silence-watch.ts";

test("a wait is noticed each time it has lasted too long, and not before", async () => {
  let noticed = 0;
  const watch = watchSilence(60, () => noticed++);
  watch.wait();
  await Bun.sleep(20);
  expect(noticed).toBe(0);
  await Bun.sleep(65);
  expect(noticed).toBe(1);
  await Bun.sleep(60);
  expect(noticed).toBe(2);
  watch.end();
  await Bun.sleep(80);
  expect(noticed).toBe(2);
});

test("waits that end in time add up to no silence, nor does time in which nothing is waited for", async () => {
  let noticed = 0;
  const watch = watchSilence(80, () => noticed++);
  for (let count = 0; count < 10; count++) {
    watch.wait();
    await Bun.sleep(15);
    watch.heard();
  }
  await Bun.sleep(200);
  expect(noticed).toBe(0);
  watch.end();
});
