// A version whose dependencies were not installed, started by a user who may not install them.

import { expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync, chmodSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "../support/project-folder.ts";
import { runProgram } from "../support/run-tollgate.ts";

// Root may write everywhere, so somebody else starts it.
test.skipIf(process.getuid?.() !== 0 || Bun.which("setpriv") === null)(
  "who may not install what is missing is told who can, and how (needs root)",
  async () => {
    // The folder of a run of tests is closed to others.
    const folder = mkdtempSync("/tmp/tollgate-not-installed-");
    try {
      for (const name of ["bin", "scripts", "package.json", "package-lock.json"])
        cpSync(join(projectFolder, name), join(folder, name), { recursive: true });
      chmodSync(folder, 0o755);
      const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
      const ran = await runProgram([...nobody, "node", join(folder, "bin/tollgate.mjs"), "doctor"], {
        folder,
      });
      expect(ran).toEqual({
        code: 1,
        out: "",
        errors:
          "The dependencies are not those of package-lock.json, and this user may not install them: " +
          `run npm ci --omit=dev in ${folder} as its owner.\n`,
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
