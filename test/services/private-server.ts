// A server of a test's own: one program at a port of its own, with a folder it writes to. It ends with the process that
// started it, however that ends, and can be stopped, started again and frozen, as servers are by accidents.

import {
  chmodSync,
  existsSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const readyWaitMs = 30_000;
const pollMs = 10;
const folderBytesMin = 2 ** 30;

export interface PrivateServer {
  /** Undefined while it is stopped. */
  readonly pid: () => number | undefined;
  /** Stops as in an accident: connections break, and nothing is put in order. */
  readonly stopHard: () => Promise<void>;
  /** Starts a stopped server again, at the same port with the same folder; returns when it answers. */
  readonly start: () => Promise<void>;
  /** Connections stay open and nobody answers. Linux only. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  readonly close: () => Promise<void>;
}

interface ServerPlan {
  readonly name: string;
  readonly folder: string;
  readonly command: readonly string[];
  /** Ends the program and everything it started, at once. */
  readonly endSignal: "SIGQUIT" | "SIGKILL";
  readonly isReady: () => Promise<boolean>;
}

export async function startPrivateServer(plan: ServerPlan): Promise<PrivateServer> {
  const logPath = join(plan.folder, "log");
  let child: Bun.Subprocess | undefined;

  const start = async () => {
    const log = openSync(logPath, "a");
    const started = Bun.spawn([...plan.command], {
      cwd: plan.folder,
      env: { PATH: process.env["PATH"] },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    child = started;
    const deadlineMs = Date.now() + readyWaitMs;
    while (!(await plan.isReady())) {
      if (started.exitCode !== null || Date.now() > deadlineMs)
        throw new Error(`${plan.name} did not start:\n${readFileSync(logPath, "utf8")}`);
      await Bun.sleep(pollMs);
    }
  };
  const stopHard = async () => {
    if (child === undefined) return;
    thaw();
    child.kill(plan.endSignal);
    await child.exited;
    child = undefined;
  };
  const freeze = () => {
    // The parent first: what has stopped starts nothing that we would not find.
    child?.kill("SIGSTOP");
    signalAllIn(plan.folder, "SIGSTOP");
  };
  const thaw = () => signalAllIn(plan.folder, "SIGCONT");
  const close = async () => {
    await stopHard();
    process.off("exit", endNow);
    rmSync(plan.folder, { recursive: true, force: true });
  };
  const endNow = () => child?.kill(plan.endSignal);
  process.on("exit", endNow);

  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return { pid: () => child?.pid, stopHard, start, freeze, thaw, close };
}

/**
 * Put before the words of a program: another user for it, and a signal from the kernel when we are killed and can end
 * nothing. Without the second where the system has no such help.
 */
export function endingWithUs(
  signal: "TERM" | "QUIT" | "KILL",
  user?: { uid: number; gid: number },
): readonly string[] {
  const tie = ["--pdeathsig", signal];
  const as = user === undefined ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  const isAble =
    Bun.which("setpriv") !== null &&
    Bun.spawnSync(["setpriv", ...tie, ...as, "--", "true"], { stderr: "ignore" }).success;
  if (isAble) return ["setpriv", ...tie, ...as, "--"];
  if (user !== undefined) throw new Error("Starting a server as another user needs setpriv of util-linux.");
  return [];
}

const folderPrefix = "tollgate-services-";

/**
 * In memory where that poses as a disk. Not in the folder of the test's other files: that is closed to the user whom
 * Postgres runs as. The name says whose it is, for whoever cleans up behind the killed.
 */
export function openServerFolder(): string {
  const folder = mkdtempSync(join(folderParent(), `${folderPrefix}${process.pid}-`));
  chmodSync(folder, 0o700);
  return folder;
}

/** Ends servers, and removes their folders, whose owner was killed; a frozen server does not hear that its owner died. */
export function removeLeftServers(): void {
  for (const name of readdirSync(folderParent())) {
    const owner = name.startsWith(folderPrefix) ? Number.parseInt(name.slice(folderPrefix.length), 10) : 0;
    if (owner === 0 || isAlive(owner)) continue;
    const folder = join(folderParent(), name);
    signalAllIn(folder, "SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

function folderParent(): string {
  const memory = "/dev/shm";
  // Not the folder that a run of tests calls the temporary one, since it goes away with the run.
  const fallback = process.platform === "win32" ? tmpdir() : "/tmp";
  if (!existsSync(memory)) return fallback;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= folderBytesMin ? memory : fallback;
}

/** Servers of ours have their folder, or one in it, as the working directory. */
function signalAllIn(folder: string, signal: NodeJS.Signals): void {
  if (!existsSync("/proc/self/cwd")) {
    if (signal === "SIGSTOP") throw new Error("Only on Linux are all processes of a server known.");
    return;
  }
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const cwd = workingDirectory(pid);
    if (cwd === folder || cwd?.startsWith(`${folder}/`) === true)
      ignoreGone(() => process.kill(Number(pid), signal));
  }
}

const workingDirectory = (pid: string) => ignoreGone(() => readlinkSync(`/proc/${pid}/cwd`));

const isAlive = (pid: number) => ignoreGone(() => process.kill(pid, 0)) === true;

/** Processes end while we look, and others' are closed to us. */
function ignoreGone<Value>(look: () => Value): Value | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
