// Makes node_modules match package-lock.json.

import "./launch/require-node.mjs";
import { ensureInstalled } from "./launch/dependencies.mjs";
import { fail } from "./launch/setup-error.mjs";

ensureInstalled().catch(fail);
