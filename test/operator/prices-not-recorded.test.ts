// A changed price while the store takes no writes: another process has SQLite's file, or Postgres is away.

import { expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { openStarts, snapshotMicrosNow } from "./operator-starts.ts";

const pricedAt = (usd: number): string => `operations: { financial.metrics.snapshot: { price_usd: ${usd} } }`;

test("prices that cannot be recorded hold as soon as they can, and nobody has to touch the file again", async () => {
  const starts = openStarts();
  try {
    const gateway = await starts.start({ config: pricedAt(0.01) });
    expect(await snapshotMicrosNow(gateway)).toBe(10_000);
    const another = new Database(join(starts.folder, "tollgate.db"));
    another.run("BEGIN IMMEDIATE");
    writeFileSync(join(starts.folder, "tollgate.yaml"), pricedAt(0.02));
    await until(() => gateway.stderr().includes("cannot be recorded yet"), 20_000);
    expect(await snapshotMicrosNow(gateway)).toBe(10_000);

    another.close();
    await until(async () => (await snapshotMicrosNow(gateway)) === 20_000);
    // The file was good all along.
    expect(gateway.stderr()).not.toContain("cannot be used");
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/^tollgate_config_reloads_total\{result="waiting"\} [1-9]/m);
    expect(metrics).toMatch(/^tollgate_config_reloads_total\{result="kept_old"\} 0$/m);
  } finally {
    await starts.close();
  }
});
