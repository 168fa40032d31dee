import { expect, test } from "bun:test";
import { lineInWords } from "./line-in-words.ts";

test("the price of tokens is told by the million, any other for one, and what a line comes to exactly", () => {
  for (const [unit, quantity, each, price, value] of [
    ["input_tokens", 208, "0.00000125", "1.25 USD per 1,000,000", "0.00026 USD"],
    ["cache_read_tokens", 3, "0.000000000001", "0.000001 USD per 1,000,000", "0.000000000003 USD"],
    ["output_tokens", 1_000_000_000, "0.0006", "600 USD per 1,000,000", "600000 USD"],
    ["second_720p", 5, "0.1", "0.1 USD each", "0.5 USD"],
    ["call", 1, "0.000000000001", "0.000000000001 USD each", "0.000000000001 USD"],
  ] as const) {
    expect(lineInWords({ unit, quantity, unit_price_usd: each })).toEqual({ price, value });
  }
});
