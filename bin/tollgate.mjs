#!/usr/bin/env node
// npx tollgate <command>: the program from any folder, with the pinned Bun.

import "../scripts/launch/require-node.mjs";
import path from "node:path";
import { runBun } from "../scripts/launch/bun.mjs";
import { root } from "../scripts/launch/root.mjs";
import { fail } from "../scripts/launch/setup-error.mjs";

runBun([path.join(root, "gateway", "src", "main.ts"), ...process.argv.slice(2)]).catch(fail);
