import type { Database } from "bun:sqlite";
import { bucketFigures } from "../../usage-buckets.ts";

/** The statements that sum up calls, prepared once. The constraints of the tables guard what they write once more. */
export function preparePosting(db: Database) {
  return {
    moveAccount: db.query<
      never,
      [
        postedMicros: bigint,
        heldMicros: bigint,
        chargeCarryAtto: bigint | null,
        valueCarryPico: bigint | null,
        accountId: string,
      ]
    >(
      `UPDATE account SET posted_micros = posted_micros + ?1, held_micros = held_micros + ?2,
                          charge_carry_atto = coalesce(?3, charge_carry_atto),
                          value_carry_pico = coalesce(?4, value_carry_pico) WHERE id = ?5`,
    ),
    openBudget: db.query<never, [keyId: string, dayMs: number, spentMicros: bigint, heldMicros: bigint]>(
      "INSERT INTO budget (key_id, window_start_ms, spent_micros, held_micros) VALUES (?1, ?2, ?3, ?4)",
    ),
    moveBudget: db.query<never, [spentMicros: bigint, heldMicros: bigint, keyId: string, dayMs: number]>(
      `UPDATE budget SET spent_micros = spent_micros + ?1, held_micros = held_micros + ?2
       WHERE key_id = ?3 AND window_start_ms = ?4`,
    ),
    openGrantDay: db.query<never, [grantId: string, dayMs: number, spentMicros: bigint, heldMicros: bigint]>(
      "INSERT INTO grant_day VALUES (?1, ?2, ?3, ?4)",
    ),
    moveGrantDay: db.query<never, [spentMicros: bigint, heldMicros: bigint, grantId: string, dayMs: number]>(
      `UPDATE grant_day SET spent_micros = spent_micros + ?1, held_micros = held_micros + ?2
       WHERE grant_id = ?3 AND start_ms = ?4`,
    ),
    addToBucket: db.query<
      never,
      [
        widthSeconds: number,
        startSeconds: number,
        accountId: string,
        keyId: string,
        requests: number,
        failedRequests: number,
        inputTokens: number,
        outputTokens: number,
        cacheReadTokens: number,
        cacheWriteTokens: number,
        valueMicros: bigint,
        chargedMicros: bigint,
      ]
    >(
      `INSERT INTO usage_bucket (width_seconds, start_seconds, account_id, key_id, ${bucketFigures.join(", ")})
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
       ON CONFLICT DO UPDATE SET ${bucketFigures.map((each) => `${each} = ${each} + excluded.${each}`).join(", ")}`,
    ),
  };
}
