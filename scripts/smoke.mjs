// The newcomer's journey: a clone of this commit in an empty folder, npm start, every command the greeting
// and the documents promise, the charge that must show afterwards, and a clean stop.

import "./launch/require-node.mjs";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { outsideNpm } from "./launch/outside-npm.mjs";
import { root } from "./launch/root.mjs";

const startWaitMs = 300_000; // the first start downloads Bun
const commandWaitMs = 60_000;
const stopWaitMs = 35_000; // running calls may take 30 s to end
const pollMs = 50;

/** Whatever they mark is run, and must answer as they say. */
const documents = ["README.md", "docs/calling.md"];
const defaultPort = /\b8787\b/g;
const keyPattern = /tgk_[0-9A-Za-z]{36}/;
const signupCreditMicros = 2_000_000;

async function smoke(folder) {
  const clone = path.join(folder, "tollgate");
  const cloned = await runCommand(["git", "clone", "--quiet", root, clone], {
    cwd: folder,
    env: process.env,
  });
  expect(cloned.code === 0, `git clone failed:\n${cloned.output}`);

  const blocks = documents.flatMap((name) => readSmokeBlocks(clone, name));
  const port = await findFreePort();
  const startedAtSeconds = Math.floor(Date.now() / 1000);
  const server = startServer({ clone, port });

  try {
    const { key, greeting } = await waitForGreeting({ server, clone, port });
    await pasteGreeting({ greeting, folder, clone, server });
    await runBlocks({ blocks, key, port, clone, server });
    await checkCharge({ key, port, startedAtSeconds });
    await stopServer(server);
  } catch (error) {
    error.message += server.transcript === "" ? "" : `\n\nWhat the server printed:\n${server.transcript}`;
    throw error;
  } finally {
    killGroup(server, "SIGKILL");
  }
}

/** Blocks ```sh with the line <!-- smoke: REGULAR EXPRESSION --> directly above. */
function readSmokeBlocks(clone, name) {
  const file = path.join(clone, name);
  expect(existsSync(file), `The clone has no ${name}.`);
  const lines = readFileSync(file, "utf8").split("\n");
  const blocks = lines.flatMap((line, index) => {
    const mark = /^\s*<!-- smoke: (.+) -->\s*$/.exec(line);
    if (mark === null) return [];

    expect(
      lines[index + 1]?.trim() === "```sh",
      `${name}:${index + 1}: a smoke mark must stand directly above a \`\`\`sh block.`,
    );
    const end = lines.findIndex((other, at) => at > index + 1 && other.trim() === "```");
    expect(end !== -1, `${name}:${index + 2}: the block is not closed.`);
    const text = lines.slice(index + 2, end).join("\n");
    return [{ place: `${name}:${index + 2}`, expected: new RegExp(mark[1]), text }];
  });

  expect(blocks.length > 0, `${name} has no block marked <!-- smoke: … -->.`);
  return blocks;
}

function findFreePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function startServer({ clone, port }) {
  const env = { ...newcomerEnv(), PORT: String(port) };
  // A process group of its own, so that stopping reaches npm and everything below it.
  const child = spawn("npm", ["start"], {
    cwd: clone,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const server = { child, env, output: "", transcript: "", ended: undefined, startedAtMs: performance.now() };

  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text) => {
      if (stream === child.stdout) server.output += text;
      server.transcript += text;
    });
  }
  child.on("error", (error) => (server.ended = `could not start: ${error.message}`));
  child.on("exit", (code, signal) => (server.ended = signal ?? code));
  groups.add(server);
  return server;
}

/** What this shell has, less what is ours and what the npm that runs this script added. */
function newcomerEnv() {
  const ours = /^(TOLLGATE_|BUN_)|^(HOST|PORT)$/;
  return Object.fromEntries(Object.entries(outsideNpm(process.env)).filter(([name]) => !ours.test(name)));
}

async function waitForGreeting({ server, clone, port }) {
  const stamp = path.join(clone, "node_modules", ".tollgate-installed");
  const elapsed = () => ((performance.now() - server.startedAtMs) / 1000).toFixed(1);
  const stillRunning = () => expect(server.ended === undefined, `npm start ended early (${server.ended}).`);

  await until("the dependencies", startWaitMs, () => {
    stillRunning();
    return existsSync(stamp);
  });
  const installed = elapsed();

  await until("the greeting with its key", startWaitMs, () => {
    stillRunning();
    return keyPattern.test(server.output);
  });
  await until("the first answer", commandWaitMs, async () => {
    stillRunning();
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    return answer?.ok === true;
  });
  console.log(`Installed after ${installed} s, first answer after ${elapsed()} s.`);

  // The greeting may arrive in pieces: it is whole when nothing has been added for a moment.
  let length = -1;
  while (length !== server.output.length) {
    length = server.output.length;
    await sleep(500);
  }
  return { key: keyPattern.exec(server.output)[0], greeting: server.output };
}

async function pasteGreeting({ greeting, folder, clone, server }) {
  const commands = readCurlCommands(greeting);
  expect(commands.length > 0, "The greeting shows no curl command.");

  // The commands run exactly as printed; only curl's own settings file makes an HTTP error an exit code.
  writeFileSync(path.join(folder, ".curlrc"), "fail-with-body\nsilent\nshow-error\n");
  for (const command of commands) {
    const { PORT: _port, ...env } = server.env;
    const ran = await runCommand(["bash", "-c", command], { cwd: clone, env: { ...env, CURL_HOME: folder } });
    expect(ran.code === 0, `A command of the greeting failed (exit ${ran.code}):\n${command}\n${ran.output}`);
    console.log(`Greeting: ${firstLine(command).replace(keyPattern, "tgk_…")}  ok`);
  }
}

/** Lines that begin with curl, with their continuations: after a backslash, or inside an open quote. */
function readCurlCommands(text) {
  const commands = [];
  let open;
  for (const line of text.split("\n")) {
    if (open === undefined && !/^\s*curl /.test(line)) continue;
    open = open === undefined ? line.trimStart() : `${open}\n${line}`;

    const quoteIsOpen = open.split("'").length % 2 === 0;
    if (line.endsWith("\\") || quoteIsOpen) continue;
    commands.push(open);
    open = undefined;
  }
  return commands;
}

async function runBlocks({ blocks, key, port, clone, server }) {
  for (const { place, expected, text } of blocks) {
    const script = text.replace(defaultPort, String(port));
    const ran = await runCommand(["bash", "-e", "-c", script], {
      cwd: clone,
      env: { ...server.env, TOLLGATE_KEY: key },
    });
    expect(ran.code === 0, `${place}: the block failed (exit ${ran.code}):\n${script}\n${ran.output}`);
    expect(expected.test(ran.output), `${place}: the output does not match ${expected}:\n${ran.output}`);
    console.log(`${place}: ${firstLine(script)}  ok`);
  }
}

async function checkCharge({ key, port, startedAtSeconds }) {
  const ask = async (resource) => {
    const answer = await fetch(`http://127.0.0.1:${port}${resource}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const text = await answer.text();
    expect(answer.ok, `GET ${resource} answered ${answer.status}: ${text}`);
    return JSON.parse(text);
  };

  const { totals } = await ask(`/v1/usage?start_time=${startedAtSeconds}`);
  const { balance_micros_usd: balance } = await ask("/v1/credits/balance");
  expect(totals?.requests >= 1, `The usage report counts no request: ${JSON.stringify(totals)}`);
  expect(Number.isInteger(balance), `The balance is not a whole number of micros: ${balance}`);

  // Small calls may cost less than a micro together; what was charged must be gone from the balance.
  const charged = totals.charged_micros_usd;
  expect(
    charged === 0 || balance < signupCreditMicros,
    `${charged} micros were charged, but the balance is ${balance}.`,
  );
  console.log(`Usage: ${totals.requests} requests, ${charged} micros charged, balance ${balance} micros.`);
}

async function stopServer(server) {
  const stoppedAtMs = performance.now();
  killGroup(server, "SIGTERM");
  await until("the server to stop after SIGTERM", stopWaitMs, () => server.ended !== undefined);
  expect(server.ended === 0, `npm start ended with ${server.ended} after SIGTERM, not with 0.`);
  expect(!groupIsAlive(server), "npm start ended after SIGTERM, but left a process behind.");
  console.log(`Stopped after ${((performance.now() - stoppedAtMs) / 1000).toFixed(1)} s with exit code 0.`);
}

function runCommand([command, ...args], { cwd, env }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: commandWaitMs,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text) => (output += text));
    }
    child.on("error", (error) => resolve({ code: error.message, output }));
    child.on("close", (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

async function until(what, waitMs, isTrue) {
  const deadlineMs = performance.now() + waitMs;
  while (!(await isTrue())) {
    expect(performance.now() < deadlineMs, `Waited ${waitMs / 1000} s in vain for ${what}.`);
    await sleep(pollMs);
  }
}

function killGroup(server, signal) {
  try {
    process.kill(-server.child.pid, signal);
  } catch {
    // Nobody is left in the group.
  }
}

function groupIsAlive(server) {
  try {
    process.kill(-server.child.pid, 0);
    return true;
  } catch {
    return false;
  }
}

function expect(condition, reason) {
  if (!condition) throw new Error(reason);
}

const firstLine = (text) => text.trim().split("\n")[0];

const groups = new Set();
const folder = mkdtempSync(path.join(os.tmpdir(), "tollgate-smoke-"));
const cleanUp = () => {
  for (const server of groups) killGroup(server, "SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
};
process.on("exit", cleanUp);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => process.exit(128 + os.constants.signals[signal]));

smoke(folder).then(
  () => console.log("Smoke: every promise of the greeting and the documents held."),
  (error) => {
    console.error(`Smoke failed: ${error.message}`);
    process.exitCode = 1;
  },
);
