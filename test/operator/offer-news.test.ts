// What the log says of the offer: whoever looks for what is new finds nothing else there.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { useStarts } from "./operator-starts.ts";

const starts = useStarts();

test("all that may not be sold as meant is told at the start, and at a reload what changed of it", async () => {
  const configWith = (input: string, off: string): string =>
    `models: { ${off}, pasted: { price: { input: ${input}, output: 2 } }, unpriced: {} }\n`;
  const gateway = await starts.start({ config: configWith("3e-06", "none-such: off") });
  const told = (line: string): number => gateway.stderr().split(line).length - 1;
  const unpriced = '"event":"not on offer","gap":"models.unpriced: no price';
  const noneSuch = '"event":"not on offer","gap":"models.none-such: there is no such model';
  await until(() => told(unpriced) === 1 && told(noneSuch) === 1 && told("pasted (input: 0.000003)") === 1);
  // Whoever answers has begun to watch the file.
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);

  // A file that cannot be used changes nothing, also of what was told.
  const file = join(starts.folder, "tollgate.yaml");
  writeFileSync(file, "models: 1");
  await until(() => told("the old one stays") === 1);
  writeFileSync(file, configWith("4e-06", "another-such: off"));
  await until(() => told("configuration reloaded") === 1);
  expect(
    told('"event":"on offer, perhaps not as meant","note":"models: prices are USD per million tokens'),
  ).toBe(2);
  expect(told("pasted (input: 0.000004)")).toBe(1);
  expect(told('"gap":"models.another-such: there is no such model')).toBe(1);
  expect(told('"event":"no longer so","gap":"models.none-such: there is no such model')).toBe(1);
  expect(told('"event":"no longer so","note":"models: prices are USD per million tokens')).toBe(1);
  expect(told("unpriced")).toBe(1);
  expect(told('"told_before":1}')).toBe(1);

  gateway.signal("SIGHUP");
  await until(() => told("configuration reloaded") === 2);
  expect(told('"told_before":3}')).toBe(1);
  // What is so again is told again.
  writeFileSync(file, configWith("4e-06", "none-such: off"));
  await until(() => told("configuration reloaded") === 3);
  expect(told(noneSuch)).toBe(2);
  expect(told('"event":"no longer so"')).toBe(3);
  expect(told("unpriced")).toBe(1);
});
