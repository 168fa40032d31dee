// Makes node_modules match package-lock.json, once, however many starts ask at the same time.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { withLock } from "./lock.mjs";
import { outsideNpm } from "./outside-npm.mjs";
import { root } from "./root.mjs";
import { SetupError } from "./setup-error.mjs";

const modules = path.join(root, "node_modules");
const lockfile = path.join(root, "package-lock.json");
const stamp = path.join(modules, ".tollgate-installed");

/** To serve, an installation without development tools is enough (`npm ci --omit=dev`); it is never made here. */
export async function ensureInstalled({ again = false, toServe = false } = {}) {
  if (!existsSync(lockfile)) throw new SetupError("package-lock.json is missing: run Tollgate from a clone.");
  if (!again && (isInstalled() || (toServe && matchesLockfile({ toServe })))) return;

  try {
    await withLock(path.join(root, ".install-lock"), async () => {
      // Whoever held the lock before us may have done the work.
      if (!again && (isInstalled() || matchesLockfile())) return writeStamp();

      console.error("Installing dependencies…");
      await npmCi();
      writeStamp();
    });
  } catch (error) {
    throw forbidden.has(error.code) ? mayNotInstall({ toServe }) : error;
  }
}

const forbidden = new Set(["EACCES", "EPERM", "EROFS"]);

/** Where the program is another user's, as services have it, a new version is installed by that one. */
const mayNotInstall = ({ toServe }) =>
  new SetupError(
    "The dependencies are not those of package-lock.json, and this user may not install them: " +
      `run npm ci${toServe ? " --omit=dev" : ""} in ${root} as its owner.`,
  );

const lockfileHash = () => createHash("sha256").update(readFileSync(lockfile)).digest("hex");

const isInstalled = () => existsSync(stamp) && readFileSync(stamp, "utf8").trim() === lockfileHash();

const writeStamp = () => writeFileSync(stamp, `${lockfileHash()}\n`);

// Someone who ran npm by hand has no stamp but a good install. npm writes down what it installed;
// where that equals the lock file there is nothing to do, and no running program loses its modules.
function matchesLockfile({ toServe = false } = {}) {
  const record = path.join(modules, ".package-lock.json");
  if (!existsSync(record)) return false;

  const wanted = JSON.parse(readFileSync(lockfile, "utf8")).packages;
  const present = JSON.parse(readFileSync(record, "utf8")).packages;
  const same = (a, b) => a !== undefined && a.version === b.version && a.integrity === b.integrity;

  return (
    Object.entries(present).every(([name, entry]) => same(wanted[name], entry)) &&
    Object.entries(wanted).every(
      ([name, entry]) => name === "" || entry.optional || (toServe && entry.dev) || name in present,
    )
  );
}

function npmCi() {
  // Development tools too, whatever NODE_ENV says: the stamp must mean one thing only.
  const args = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund"];
  const npm = process.env.npm_execpath;
  const [command, prefix] =
    npm !== undefined && path.basename(npm) === "npm-cli.js" ? [process.execPath, [npm]] : ["npm", []];

  return new Promise((resolve, reject) => {
    const child = spawn(command, [...prefix, ...args], {
      cwd: root,
      env: outsideNpm(process.env),
      stdio: ["ignore", "pipe", "pipe"],
      shell: command === "npm" && process.platform === "win32",
    });

    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text) => (output += text));
    }

    // Let npm end before we do, or it would go on writing after the lock is gone.
    let stopped = false;
    const stop = (signal) => {
      stopped = true;
      child.kill(signal);
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, stop);

    child.on("error", (error) => reject(new SetupError(`npm could not be started: ${error.message}`)));
    child.on("close", (code) => {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.off(signal, stop);
      if (stopped) return reject(new SetupError("Stopped while installing dependencies."));
      if (code !== 0)
        return reject(new SetupError(`${output}\nInstalling dependencies failed (npm ci, exit ${code}).`));
      resolve();
    });
  });
}
