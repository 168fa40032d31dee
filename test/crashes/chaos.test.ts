import { expect, test } from "bun:test";
import { figures } from "./chaos-books.ts";
import { runChaos } from "./chaos.ts";

test("through drops, faults and kills, every call of the client ends in one charge or none, and it knows which", async () => {
  const answeredMin = 51;
  const report = await runChaos({ seconds: 7, answeredMin, seed: 20_260_314 });
  expect(report.wrong, figures(report)).toEqual([]);
  expect(report.reportedMicros).toBe(report.ledgerMicros);
  expect(report.audit).toContain("The books balance.");
  expect(report.kills).toBeGreaterThan(1);
  expect(report.outcomes["answered"] ?? 0).toBeGreaterThanOrEqual(answeredMin);
  expect(report.sentAgain).toBeGreaterThan(5);
});
