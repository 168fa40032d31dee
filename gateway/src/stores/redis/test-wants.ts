import type { RateWant, SlotWant } from "../../limits/limiter.ts";

export const rate = (limit: number, amount = 1, name = "r"): RateWant => ({
  kind: "rate",
  of: "requests",
  name,
  amount,
  limit,
});

export const slot = (holder: string, limit = 2): SlotWant => ({
  kind: "slot",
  name: "s",
  holder,
  limit,
  leaseMs: 3_600_000,
});
