import { expect, test } from "bun:test";
import { withNodes } from "../../../../../test/services/postgres-nodes.ts";
import { holdRequest } from "../../../ledger/conformance/shared-conformance.ts";
import { openDatabase } from "../server/database.ts";
import { decideBatch } from "./ledger-batch.ts";
import { createRuns } from "./runs.ts";

test("a key that was seen before is held for in the very batch that makes room for new ones", () =>
  withNodes({ count: 1 }, async ({ url, node }) => {
    const [seen, fresh] = [await node(0).openCaller(), await node(0).openCaller()];
    const monotonicMs = (): number => performance.now();
    const db = openDatabase({ url, monotonicMs });
    const runs = createRuns({ db, wallMs: () => 1, monotonicMs, deadAfterMs: 15_000 });
    try {
      const known = {
        keys: new Map(
          [seen.keyId, ...Array.from({ length: 60_000 }, (_, n) => `key_of_others_${n}`)].map((keyId) => [
            keyId,
            { countsDays: false, budgetsBegun: 0n },
          ]),
        ),
        priceVersions: new Set<string>(),
      };
      const runId = await runs.begin(1);
      const decided = await db.decide((query) =>
        decideBatch(
          query,
          {
            runId,
            commands: [seen, fresh].map((caller) => ({
              kind: "hold",
              request: holdRequest(caller, `call_of_${caller.keyId}`, {}),
            })),
            inDoubt: new Set(),
            notes: { dispatched: new Map(), progress: new Map() },
            dispatchedAtMs: () => undefined,
            known,
          },
          { accountOf: () => undefined, locking: "wait" },
        ),
      );
      expect(decided).toEqual([{ result: { kind: "held" } }, { result: { kind: "held" } }]);
      expect([...known.keys.keys()].toSorted()).toEqual([seen.keyId, fresh.keyId].toSorted());
    } finally {
      await runs.end();
      await db.close();
    }
  }));
