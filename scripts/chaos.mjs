// node scripts/chaos.mjs [seconds=180] [seed=N]: the client in front of a gateway in which everything goes wrong.

import "./require-node.mjs";
import path from "node:path";
import { runBun } from "./bun.mjs";
import { fail, root } from "./install.mjs";

runBun([path.join(root, "test", "chaos.ts"), ...process.argv.slice(2)]).catch(fail);
