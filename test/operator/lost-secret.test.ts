// What commands do beside data whose secret is not there.

import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runTollgate } from "../support/run-tollgate.ts";

test("no secret is made beside data that was written under one: what lacks is said", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-lost-secret-"));
  try {
    const environment = { TOLLGATE_SECRET: "a secret from the environment" };
    const made = await runTollgate(["account", "create", "--name", "Ada"], { folder, environment });
    expect(made.code).toBe(0);
    const lacking = `The data at ${join(folder, "data/tollgate.db")} belongs to a secret that is not here.`;
    for (const words of [["audit"], ["account", "create", "--name", "Bob"], ["serve"]]) {
      const ran = await runTollgate(words, { folder, environment: { PORT: "0" } });
      expect([ran.code, ran.out]).toEqual([1, ""]);
      expect(ran.errors).toContain(lacking);
    }
    expect(readdirSync(join(folder, "data"))).not.toContain("secret");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
