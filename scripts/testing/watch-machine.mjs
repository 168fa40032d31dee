// Whether the machine itself was kept from running. A virtual machine may be halted for seconds, or have its processors lent to
// others; a test of what happens within a second means nothing then, whatever its bound.

import { readFileSync } from "node:fs";

const lookEveryMs = 50;
/** Two cores with more to do than they can still let this process have its turn within a tenth of it. */
const haltMsMin = 250;
const stolenShareMin = 0.1;

/** Begins to look; what it gives says what went wrong since a moment of `performance.now()`, or undefined. */
export function watchMachine() {
  const halts = [];
  const looks = [readLook()];
  let lookedAtMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const haltMs = Math.round(nowMs - lookedAtMs - lookEveryMs);
    if (haltMs >= haltMsMin) halts.push({ endedAtMs: nowMs, haltMs });
    if (nowMs - looks.at(-1).atMs >= 1000) looks.push(readLook());
    lookedAtMs = nowMs;
  }, lookEveryMs);
  timer.unref();

  return (sinceMs) => {
    const longestMs = Math.max(
      0,
      ...halts.filter(({ endedAtMs }) => endedAtMs > sinceMs).map(({ haltMs }) => haltMs),
    );
    if (longestMs > 0) return `the machine stood still for ${longestMs} ms`;
    const before = looks.findLast(({ atMs }) => atMs <= sinceMs) ?? looks[0];
    const share = stolenShare(before, readLook());
    return share >= stolenShareMin
      ? `others had ${Math.round(share * 100)} % of the machine's time`
      : undefined;
  };
}

/** Where nothing says so, nobody else had any of it. */
function readLook() {
  let ticks = [];
  try {
    ticks = readFileSync("/proc/stat", "utf8").split("\n", 1)[0].trim().split(/\s+/).slice(1).map(Number);
  } catch {}
  const stealColumn = 7;
  return {
    atMs: performance.now(),
    stolen: ticks[stealColumn] ?? 0,
    all: ticks.slice(0, stealColumn + 1).reduce((sum, count) => sum + count, 0),
  };
}

const stolenShare = (before, after) =>
  after.all > before.all ? (after.stolen - before.stolen) / (after.all - before.all) : 0;
