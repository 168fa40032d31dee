import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What a program finds in its environment beside what its test says: nothing of whoever runs the tests. Bun looks at home
 * for the sources that it has translated before; without a home it translates them anew at each of some hundred starts.
 */
export const programEnvironment = {
  PATH: process.env["PATH"],
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(tmpdir(), "tollgate-translated"),
} as const;
