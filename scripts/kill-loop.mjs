// node scripts/kill-loop.mjs [kills=100]: kills the gateway under load that often and proves that no charge is lost.

import "./require-node.mjs";
import path from "node:path";
import { runBun } from "./bun.mjs";
import { fail, root } from "./install.mjs";

runBun([path.join(root, "test", "kill-loop.ts"), ...process.argv.slice(2)]).catch(fail);
