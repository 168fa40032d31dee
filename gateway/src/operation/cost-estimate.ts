import { z } from "zod";

/** The price of a call that was not made. */
export const costEstimate = z
  .object({
    object: z.literal("cost_estimate"),
    operation_id: z.string(),
    currency: z.literal("USD"),
    estimate_kind: z.enum(["exact", "estimate"]),
    estimated_cost_micros_usd: z.int().min(0),
    max_cost_micros_usd: z.int().min(0),
    may_exceed_estimate: z.boolean(),
    estimated_at: z.iso.datetime(),
    price_version: z.string().describe("The version of the price of this operation and model."),
    plan_multiplier: z.string().describe("What the account's plan multiplies list prices by."),
    breakdown: z.array(
      z.object({
        unit: z.string(),
        quantity: z.int().min(0),
        unit_price_usd: z.string().describe("The list price of one unit."),
        cost_micros_usd: z
          .int()
          .min(0)
          .describe("After the plan's multiplier; the lines add up to the estimate."),
      }),
    ),
  })
  .meta({ id: "CostEstimate", description: "In quote mode." });

export type CostEstimate = z.infer<typeof costEstimate>;
