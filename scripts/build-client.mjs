// npm run client:build: client/src becomes client/dist, plain JavaScript modules with their types.

import "./launch/require-node.mjs";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "./launch/dependencies.mjs";
import { root } from "./launch/root.mjs";
import { fail, SetupError } from "./launch/setup-error.mjs";

const client = path.join(root, "client");

export async function buildClient() {
  await ensureInstalled();
  const built = path.join(client, "dist");
  rmSync(built, { recursive: true, force: true });
  const compiler = path.join(root, "node_modules", "typescript", "bin", "tsc");
  const { status } = spawnSync(process.execPath, [compiler, "-p", client], { stdio: "inherit" });
  if (status !== 0) throw new SetupError("The client does not compile.");

  // The compiler renames the imports of modules, but not those of their types.
  for (const file of readdirSync(built).filter((name) => name.endsWith(".d.ts"))) {
    const types = readFileSync(path.join(built, file), "utf8");
    writeFileSync(path.join(built, file), types.replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"'));
  }
  copyFileSync(path.join(root, "LICENSE"), path.join(built, "LICENSE"));
  linkForExamples();
}

/** The examples import the package by its name, as a reader's own program would. */
function linkForExamples() {
  const modules = path.join(root, "examples", "node_modules");
  const link = path.join(modules, "tollgate-client");
  if (existsSync(link)) return;
  mkdirSync(modules, { recursive: true });
  symlinkSync(client, link, "junction");
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  buildClient().catch(fail);
}
