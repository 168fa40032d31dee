import { z } from "zod";
import { amountMicrosMax, microsFromUsd, usdFromMicros } from "../platform/money.ts";

/** Numbers are read as written: their shortest decimal form is exact, arithmetic on them would not be. */
export function amount(parse: (text: string) => bigint | undefined, expected: string) {
  return z.union([z.number(), z.string()], `expected ${expected}`).transform((value, context) => {
    const parsed = parse(decimalText(String(value)));
    if (parsed !== undefined && parsed >= 0n) return parsed;
    context.addIssue({ code: "custom", message: `expected ${expected}` });
    return z.NEVER;
  });
}

/** An amount of money, to the micro-USD. */
export const usdAmount = amount(microsFromUsd, "USD, at most 6 decimals");

/** One that is given, or allowed, to somebody at once. */
export const usdAtOnce = usdAmount.refine((micros) => micros <= amountMicrosMax, {
  error: `expected at most ${usdFromMicros(amountMicrosMax)} USD`,
});

/** A number, also as `${NAME}` gives it: what comes from the environment is text. */
export const numeric = (schema: z.ZodNumber) =>
  z.preprocess((written) => {
    const isNumber = typeof written === "string" && /^\d{1,15}(\.\d{1,15})?$/.test(written);
    return isNumber ? Number(written) : written;
  }, schema);

export const count = numeric(z.number().int().positive());

/** JavaScript writes 0.0000001 as 1e-7; this writes it out again. */
function decimalText(written: string): string {
  const [, digits = "", fraction = "", places = ""] = /^(\d)(?:\.(\d+))?e-(\d{1,2})$/.exec(written) ?? [];
  return digits === "" ? written : `0.${"0".repeat(Number(places) - 1)}${digits}${fraction}`;
}
