import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicationsConformance } from "../../contract/publications-conformance.ts";
import { openSqliteStore } from "./sqlite-store.ts";

publicationsConformance(async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-publications-"));
  return openSqliteStore({ path: join(folder, "tollgate.db") }).publications;
});
