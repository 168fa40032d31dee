// Takes the browser program of Scalar's API reference out of its npm package and keeps it, compressed, in site/scalar.
// The package itself would bring 299 others along that only its own build needs. Usage: npm run scalar -- 1.72.1

import "./launch/require-node.mjs";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { root } from "./launch/root.mjs";

const [version] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version ?? "")) {
  console.error("Which version? npm run scalar -- 1.72.1");
  process.exit(1);
}

const folder = mkdtempSync(path.join(tmpdir(), "tollgate-scalar-"));
try {
  const packed = execFileSync("npm", ["pack", "--json", `@scalar/api-reference@${version}`], { cwd: folder });
  const [{ filename, integrity }] = JSON.parse(packed.toString());
  const file = "package/dist/browser/standalone.js";
  execFileSync("tar", ["-xzf", filename, file], { cwd: folder });
  // The last line names a source map that is not kept.
  const program = readFileSync(path.join(folder, file), "utf8").replace(
    /\n\/\/# sourceMappingURL=.*\s*$/,
    "\n",
  );
  const sha256 = createHash("sha256").update(program).digest("hex");
  const compressed = brotliCompressSync(program, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
  });
  writeFileSync(path.join(root, "site/scalar/standalone.js.br"), compressed);
  writeFileSync(
    path.join(root, "gateway/src/doors/site/website/scalar-version.ts"),
    [
      "// Written by scripts/fetch-scalar.mjs; not edited by hand.",
      "",
      "/** Which program of Scalar's lies in site/scalar, what its package was, and the digest of it uncompressed. */",
      "export const scalarVersion = {",
      `  version: "${version}",`,
      `  package: "${integrity}",`,
      `  sha256: "${sha256}",`,
      "} as const;",
      "",
    ].join("\n"),
  );
  console.log(`Scalar ${version}: ${program.length} characters, ${compressed.length} bytes kept.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
