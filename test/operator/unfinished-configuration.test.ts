// A configuration that is read while somebody writes it: nothing is sold by half of a file.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { snapshotMicrosNow, useStarts } from "./operator-starts.ts";

const starts = useStarts();

test("a configuration that is empty while it is written does not put anything back to the defaults", async () => {
  const file = join(starts.folder, "tollgate.yaml");
  const priced = (usd: string): string =>
    `sandbox: off
upstreams: { f: { protocol: financialdatasets, url: "http://127.0.0.1:9" } }
operations: { financial.metrics.snapshot: { price_usd: ${usd} } }`;
  const gateway = await starts.start({ config: priced("0.01") });
  const refusals = (): number => gateway.stderr().split("is it being written?").length - 1;
  for (const unfinished of ["", "# What is sold here.\n", "upstreams:\n  # soon\n"]) {
    const told = refusals();
    writeFileSync(file, unfinished);
    gateway.signal("SIGHUP");
    await until(() => refusals() > told);
    expect(await snapshotMicrosNow(gateway)).toBe(10_000);
    writeFileSync(file, priced("0.01"));
  }
  expect(gateway.stderr()).toContain("the old one stays");
  writeFileSync(file, priced("0.02"));
  gateway.signal("SIGHUP");
  await until(async () => (await snapshotMicrosNow(gateway)) === 20_000);
});
