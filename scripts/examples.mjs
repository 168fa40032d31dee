// npm run examples: builds the client, starts a gateway with its sandbox, and runs every example on Node and on Bun.
// Each checks itself.

import "./launch/require-node.mjs";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { buildClient } from "./build-client.mjs";
import { bunEnv, openBun } from "./launch/bun.mjs";
import { root } from "./launch/root.mjs";
import { fail } from "./launch/setup-error.mjs";

const startWaitMs = 60_000;

async function runExamples() {
  const bun = await openBun();
  await buildClient();
  const folder = mkdtempSync(path.join(os.tmpdir(), "tollgate-examples-"));
  // All of them together make more requests than a new account may make in a minute.
  writeFileSync(
    path.join(folder, "tollgate.yaml"),
    "tiers: { free: { rpm: 10000, tpm: 10000000, concurrency: 50 } }\n",
  );
  const gateway = spawn(bun, [path.join(root, "gateway/src/main.ts"), "serve"], {
    cwd: folder,
    env: { ...bunEnv, PORT: "0", TOLLGATE_DATA: path.join(folder, "data"), TOLLGATE_LOG: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const { key, url } = await greetingOf(gateway);
    const names = readdirSync(path.join(root, "examples")).filter(
      (name) => name.endsWith(".mjs") && name !== "settings.mjs",
    );
    for (const [runtime, program] of [
      ["Node", process.execPath],
      ["Bun", bun],
    ]) {
      for (const name of names) await runExample({ runtime, program, name, key, url });
    }
    console.log(`Examples: ${names.length} ran on Node and on Bun, and each found what it promised.`);
  } finally {
    gateway.kill("SIGTERM");
    await new Promise((resolve) => gateway.on("close", resolve));
    rmSync(folder, { recursive: true, force: true });
  }
}

function greetingOf(gateway) {
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => reject(new Error("The gateway did not start.")), startWaitMs);
    gateway.on("close", () => reject(new Error(`The gateway stopped: ${text}`)));
    gateway.stdout.setEncoding("utf8");
    gateway.stdout.on("data", (more) => {
      text += more;
      const url = /Tollgate is open at (\S+)\n/.exec(text)?.[1];
      const key = /tgk_[0-9A-Za-z]{36}/.exec(text)?.[0];
      if (url === undefined || key === undefined) return;
      clearTimeout(timer);
      resolve({ url, key });
    });
  });
}

function runExample({ runtime, program, name, key, url }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [path.join(root, "examples", name)], {
      env: { ...process.env, TOLLGATE_KEY: key, TOLLGATE_BASE_URL: url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text) => (output += text));
    }
    child.on("error", reject);
    child.on("close", (code) => {
      console.log(`${runtime}: ${name}: ${code === 0 ? "ok" : "FAILED"}`);
      if (code === 0) return resolve();
      reject(new Error(`${name} failed on ${runtime}:\n${output}`));
    });
  });
}

runExamples().catch(fail);
