import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { budgetSpan } from "../../../keys/budget-window.ts";
import { dayMs } from "../../../platform/utc-day.ts";
import { openDatabase } from "../file/database.ts";
import { createStandings, type Standings } from "./standings.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-standings-"));
const db = openDatabase(join(folder, "tollgate.db"));

afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ["windows of one key", (of: Standings, day: number) => of.budget("key", budgetSpan("day", day * dayMs))],
  ["days of one grant", (of: Standings, day: number) => of.grantDay("grant", day * dayMs)],
] as const)("%s that calls for years are not all kept in memory", (_, stand) => {
  const standings = createStandings(db, () => {});
  const first = stand(standings, 0);
  standings.forgetWhenMany();
  expect(stand(standings, 0)).toBe(first);
  for (let day = 1; day <= 10_000; day++) stand(standings, day);
  standings.forgetWhenMany();
  expect(stand(standings, 0)).not.toBe(first);
});
