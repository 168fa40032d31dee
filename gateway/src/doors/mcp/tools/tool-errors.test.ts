import { expect, test } from "bun:test";
import { conflicts } from "../../../ledger/refuse-earlier.ts";
import { CallRefused } from "../../../platform/refusals.ts";
import { toolError } from "./tool-errors.ts";

test("agents have one word for a taken idempotency key, whatever code its operation has for it", () => {
  for (const conflict of conflicts)
    for (const code of [conflict, `traffic_analytics_${conflict}` as const])
      expect(toolError(new CallRefused(code, "Taken."), "no").code).toBe("idempotency_conflict");
});
