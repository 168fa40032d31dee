// Calls in the books of a test, made without a gateway: held, sent and settled in one go.

import type { DayBound } from "../../grants/grants.ts";
import type { Store } from "../../store/store.ts";
import type { Attempt } from "../../ledger/call-record.ts";
import { unbound } from "../../ledger/test-unbound.ts";
import type { Quantities } from "../../prices/quantities.ts";
import { createTerms } from "../../prices/terms.ts";

interface TestCall {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly micros: bigint;
  readonly operationId?: string;
  readonly model?: string;
  readonly used?: Quantities;
  readonly fails?: boolean;
  /** The upstreams that were asked, one after another; the last of them answered. */
  readonly asked?: readonly string[];
  readonly grant?: DayBound;
}

export interface Bookkeeper {
  /** A call that ended now and costs exactly this. */
  readonly call: (call: TestCall) => Promise<void>;
}

export function createBookkeeper(openStore: () => Promise<Store>, nowMs: () => number): Bookkeeper {
  return {
    call: async ({
      callId,
      accountId,
      keyId,
      micros,
      operationId = "test.call",
      model,
      used,
      fails,
      asked = [],
      grant,
    }) => {
      const terms = createTerms(operationId, model, { call: 1_000_000n });
      const store = await openStore();
      try {
        await store.ledger.beginRun(nowMs());
        await store.ledger.recordPrices([{ operationId, model, terms }]);
        await store.ledger.hold({
          callId,
          accountId,
          keyId,
          operationId,
          model,
          amountMicros: micros,
          terms,
          multiplierPpm: 1_000_000n,
          createdAtMs: nowMs(),
          ...unbound,
          grant,
        });
        const attempts = asked.map((upstream, at): Attempt => ({
          upstream,
          outcome: at + 1 === asked.length ? "answered" : "rate_limited",
          status: at + 1 === asked.length ? 200 : 429,
          started_at_ms: nowMs(),
          ended_at_ms: nowMs(),
        }));
        const end = { callId, httpStatus: fails ? 500 : 200, attempts, settledAtMs: nowMs() };
        if (fails) await store.ledger.release({ ...end, outcome: "failed" });
        else
          await store.ledger.settle({
            ...end,
            outcome: "succeeded",
            used: { call: Number(micros), ...used },
            usageSource: "provider",
            valuePico: micros * 1_000_000n,
          });
      } finally {
        await store.close();
      }
    },
  };
}
