import { usd } from "../output.ts";

/** Amounts in JSON are whole micro-USD. */
export const microsAsUsd = (micros: number): string => usd(BigInt(micros));
