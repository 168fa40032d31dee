import { afterEach, beforeEach, expect, test } from "bun:test";
import { constants, mkdtempSync, openSync, closeSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { openLogOutput, type LogOutput } from "./log-output.ts";

let folder: string;
let reader: number;
let writer: number;
let output: LogOutput;
/** Lines, as they were dropped, and as they were told of in the end. */
let lost: { dropped: number; told: number[] };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-log-"));
  const path = join(folder, "pipe");
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  writer = openSync(path, "w");
  lost = { dropped: 0, told: [] };
  const stream = Object.assign(new Writable(), { fd: writer });
  output = openLogOutput(stream, {
    waitingBytesMax: 100_000,
    onLost: () => void lost.dropped++,
    onCaughtUp: (lines) => void lost.told.push(lines),
  });
});
afterEach(() => {
  for (const fd of [reader, writer]) closeSync(fd);
  rmSync(folder, { recursive: true, force: true });
});

const line = (n: number): string => `${n} ${"x".repeat(990)}\n`;

/** Everything that is in the pipe now, by the number of each line. */
function readLines(): string {
  let text = "";
  const bytes = Buffer.alloc(1_048_576);
  try {
    for (let read = -1; read !== 0;) {
      read = readSync(reader, bytes);
      text += bytes.toString("utf8", 0, read);
    }
  } catch {
    // Nothing more for now.
  }
  return text;
}

const numbersIn = (text: string): number[] => text.split("\n").slice(0, -1).map(Number.parseFloat);

test("a line is with its reader when write has returned", async () => {
  output.write("one\n");
  expect(readLines()).toBe("one\n");
  await output.taken();
});

test("a reader who stands still keeps nobody waiting, and gets everything in order as far as it may wait", async () => {
  const count = 140;
  for (let n = 0; n < count; n++) output.write(line(n));
  let text = "";
  while (numbersIn(text).length < count) {
    text += readLines();
    await Bun.sleep(10);
  }
  expect(numbersIn(text)).toEqual(Array.from({ length: count }, (_, n) => n));
  expect(lost).toEqual({ dropped: 0, told: [] });
  await output.taken();
});

test("a line that comes while others wait stays behind them, also where there is room by then", async () => {
  const count = 140;
  for (let n = 0; n < count; n++) output.write(line(n));
  let text = readLines();
  output.write(line(count));
  while (!text.includes(`\n${count} `)) {
    text += readLines();
    await Bun.sleep(10);
  }
  expect(numbersIn(text)).toEqual(Array.from({ length: count + 1 }, (_, n) => n));
  await output.taken();
});

test("what does not fit is dropped by whole lines, and told once the reader is back", async () => {
  const count = 1_000;
  for (let n = 0; n < count; n++) output.write(line(n));
  let text = "";
  while (lost.told.length === 0) {
    text += readLines();
    await Bun.sleep(10);
  }
  text += readLines();
  const came = numbersIn(text);
  expect(came).toEqual(came.map((_, n) => n));
  const missing = count - came.length;
  expect(lost).toEqual({ dropped: missing, told: [missing] });
  output.write(line(count));
  expect(numbersIn(readLines())).toEqual([count]);
  await output.taken();
});

test("an end does not wait for a reader who never comes", async () => {
  for (let n = 0; n < 200; n++) output.write(line(n));
  const startedMs = performance.now();
  await output.taken();
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});

test("a reader who goes is waited for: the next one gets what the first one did not take", async () => {
  const count = 140;
  for (let n = 0; n < count; n++) output.write(line(n));
  // What was in the pipe goes with its reader.
  const taken = numbersIn(readLines()).length;
  closeSync(reader);
  await Bun.sleep(120);
  output.write(line(count));
  reader = openSync(join(folder, "pipe"), constants.O_RDONLY | constants.O_NONBLOCK);
  let text = "";
  while (!text.includes(`\n${count} `)) {
    text += readLines();
    await Bun.sleep(10);
  }
  const came = numbersIn(text.slice(text.indexOf("\n") + 1));
  expect(came.at(-1)).toBe(count);
  expect(count - came.length).toBeLessThanOrEqual(taken + 1);
  expect(lost).toEqual({ dropped: 0, told: [] });
  await output.taken();
});

test("a socket that nobody reads fills no memory: lines are dropped, counted and told", async () => {
  const waiting: (() => void)[] = [];
  const heard: string[] = [];
  const socket = new Writable({
    highWaterMark: 1,
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      heard.push(chunk);
      waiting.push(done);
    },
  });
  const dropped: number[] = [];
  const told: number[] = [];
  const { write } = openLogOutput(Object.assign(socket, { fd: -1 }), {
    waitingBytesMax: 10_000,
    onLost: () => void dropped.push(1),
    onCaughtUp: (lines) => void told.push(lines),
  });
  for (let n = 0; n < 100; n++) write(line(n));
  expect([dropped.length > 80, told]).toEqual([true, []]);
  while (told.length === 0) {
    waiting.shift()?.();
    await Bun.sleep(1);
  }
  expect(told).toEqual([dropped.length]);
});
