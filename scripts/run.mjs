// node scripts/run.mjs <file or Bun command> [arguments]: installs what is missing, then runs it with the pinned Bun.

import "./require-node.mjs";
import { runBun } from "./bun.mjs";
import { fail } from "./install.mjs";

runBun(process.argv.slice(2)).catch(fail);
