// node scripts/run.mjs <file or Bun command> [arguments]: installs what is missing, then runs it with the pinned Bun.

import "./launch/require-node.mjs";
import { runBun } from "./launch/bun.mjs";
import { fail } from "./launch/setup-error.mjs";

runBun(process.argv.slice(2)).catch(fail);
