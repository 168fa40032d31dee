import { expect, test } from "bun:test";
import { figures } from "./chaos-books.ts";
import { runChaos } from "./chaos.ts";

test("through drops, faults and kills, every call of the client ends in one charge or none, and it knows which", async () => {
  const atLeast = { answered: 51, kills: 2, sentAgain: 6 };
  const report = await runChaos({ seconds: 7, atLeast, seed: 20_260_314 });
  expect(report.wrong, figures(report)).toEqual([]);
  expect(report.reportedMicros).toBe(report.ledgerMicros);
  expect(report.audit).toContain("The books balance.");
  expect(report.kills).toBeGreaterThanOrEqual(atLeast.kills);
  expect(report.outcomes["answered"] ?? 0).toBeGreaterThanOrEqual(atLeast.answered);
  expect(report.sentAgain).toBeGreaterThanOrEqual(atLeast.sentAgain);
});
