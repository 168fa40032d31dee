#!/usr/bin/env node
// npx tollgate <command>: the program from any folder, with the pinned Bun.

import "../scripts/require-node.mjs";
import path from "node:path";
import { runBun } from "../scripts/bun.mjs";
import { fail, root } from "../scripts/install.mjs";

runBun([path.join(root, "gateway", "src", "main.ts"), ...process.argv.slice(2)]).catch(fail);
