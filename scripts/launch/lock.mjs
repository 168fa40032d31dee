// A lock between processes: a folder that only one of them can make, with a heartbeat inside.
// A holder that was killed stops beating, and a waiter that saw no beat for a while takes over.
// Beats are compared, not dated, so neither a wrong clock nor a reused process id matters.

import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const beatMs = 500;
const pollMs = 200;
const silentPollsMax = 50; // 10 s without a beat
const waitPollsMax = 3000; // 10 minutes

export async function withLock(folder, work) {
  await acquire(folder);

  const owner = randomUUID();
  let count = 0;
  const beat = () => writeFileSync(path.join(folder, "beat"), `${owner} ${count++}`);
  const release = () => rmSync(folder, { recursive: true, force: true });

  beat();
  const timer = setInterval(beat, beatMs);
  process.on("exit", release);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    process.off("exit", release);
    release();
  }
}

async function acquire(folder) {
  let last;
  let silentPolls = 0;

  for (let polls = 0; polls < waitPollsMax; polls++) {
    if (tryMakeFolder(folder)) return;

    const seen = readBeat(folder);
    silentPolls = seen === last ? silentPolls + 1 : 0;
    last = seen;
    if (silentPolls >= silentPollsMax && takeOver(folder, last)) return;

    await sleep(pollMs);
  }

  throw new Error(`Another start has been installing for too long. If there is none, delete ${folder}.`);
}

// Several may wait, but one alone makes the inner folder, and may put its own beat in the place of the dead one.
function takeOver(folder, silentBeat) {
  const claim = path.join(folder, "claim");
  if (!tryMakeFolder(claim)) return false;

  const taken = readBeat(folder) === silentBeat;
  if (taken) writeFileSync(path.join(folder, "beat"), randomUUID());
  rmdirSync(claim);
  return taken;
}

function tryMakeFolder(folder) {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if (error.code === "EEXIST" || error.code === "ENOENT") return false;
    throw error;
  }
}

function readBeat(folder) {
  try {
    return readFileSync(path.join(folder, "beat"), "utf8");
  } catch {
    return "none yet";
  }
}
