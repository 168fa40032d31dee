// Finds the pinned Bun inside node_modules and runs it in our place.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import util from "node:util";
import { ensureInstalled } from "./dependencies.mjs";
import { root } from "./root.mjs";
import { SetupError } from "./setup-error.mjs";

/** The gateway and its commands, which need no development tools. */
const program = path.join(root, "gateway", "src", "main.ts");

/** Bun's fetch allows 256 requests at once unless told before it starts; programs that load a gateway need more. */
export const bunEnv = {
  BUN_CONFIG_MAX_HTTP_REQUESTS: "20000",
  ...authoritiesInDotEnv(),
  ...process.env,
};

export async function openBun({ toServe = false } = {}) {
  await ensureInstalled({ toServe });
  const found = findBun();
  if (found !== undefined) return found;

  // The stamp is right but the binary is not: a node_modules from another machine, or a damaged one.
  await ensureInstalled({ again: true });
  const repaired = findBun();
  if (repaired !== undefined) return repaired;

  throw new SetupError(
    `No Bun ${pinnedVersion()} for ${process.platform}-${process.arch} came with the dependencies.`,
  );
}

/** Runs Bun as if it were this process: its terminal, its signals, its exit code. */
export async function runBun(args) {
  const isProgram = path.resolve(root, args[0] ?? "") === program;
  const passHangups =
    isProgram && args[1] === "serve" ? holdHangups() : (child) => passSignal("SIGHUP", child);
  const bun = await openBun({ toServe: isProgram });
  const child = spawn(bun, args, { stdio: "inherit", env: bunEnv });
  passSignal("SIGINT", child);
  passSignal("SIGTERM", child);
  passHangups(child);

  child.on("error", (error) => {
    console.error(`Bun could not be started: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(exitCode(code, signal)));
}

const passSignal = (signal, child) => process.on(signal, () => child.kill(signal));

/**
 * To a server SIGHUP means that it reads its configuration again. Until its program is loaded nobody listens for that, and
 * the signal would end the start: what comes before is kept, and told when it can be heard.
 */
function holdHangups() {
  let isHeld = false;
  let pass = () => (isHeld = true);
  process.on("SIGHUP", () => pass());
  return (child) => {
    const begin = () => {
      pass = () => child.kill("SIGHUP");
      if (isHeld) pass();
    };
    setTimeout(begin, loadedAfterMs).unref();
  };
}

/** Half a second is usual; a machine that is busy takes its time, and no wish is lost by waiting. */
const loadedAfterMs = 3_000;

export const exitCode = (code, signal) => (signal === null ? code : 128 + os.constants.signals[signal]);

/** Bun reads `.env` itself, but looks for this one where only the real environment is, and would trust nobody more. */
function authoritiesInDotEnv() {
  let text;
  try {
    text = readFileSync(".env", "utf8");
  } catch {
    // There is none, or it is not for this user.
    return {};
  }
  // The oldest of Node 20 cannot parse such a file.
  const { NODE_EXTRA_CA_CERTS: authorities } = util.parseEnv?.(text) ?? {};
  return authorities === undefined ? {} : { NODE_EXTRA_CA_CERTS: authorities };
}

function findBun() {
  return candidates().find((file) => {
    const asked = spawnSync(file, ["--version"], { encoding: "utf8" });
    return asked.status === 0 && asked.stdout.trim() === pinnedVersion();
  });
}

// Bun's install script moves the binary from the platform's package to bin/bun.exe (on every system).
// An npm that withholds install scripts leaves a placeholder there, and the binary where it was.
function candidates() {
  const platforms = path.join(root, "node_modules", "@oven");
  const untouched = existsSync(platforms)
    ? readdirSync(platforms).flatMap((name) =>
        ["bun", "bun.exe"].map((file) => path.join(platforms, name, "bin", file)),
      )
    : [];
  return [path.join(root, "node_modules", "bun", "bin", "bun.exe"), ...untouched].filter((file) =>
    existsSync(file),
  );
}

const pinnedVersion = () =>
  JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).dependencies.bun;
