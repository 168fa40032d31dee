import { expect, test } from "bun:test";
import { withNodes } from "../../../../../test/services/postgres-nodes.ts";
import {
  becomes,
  holdRequest,
  middayMs,
  releaseOf,
  settlementOf,
} from "../../../ledger/conformance/shared-conformance.ts";
import { TransitMap } from "../../../platform/transit-map.ts";
import { openDatabase } from "../server/database.ts";
import { createRuns } from "./runs.ts";
import { createCommandQueue } from "./command-queue.ts";

test("a process keeps nothing of calls whose ends are told to another one", () =>
  withNodes({ count: 1 }, async ({ url, node }) => {
    const [caller, other] = [await node(0).openCaller(), node(0).store()];
    const monotonicMs = (): number => performance.now();
    const db = openDatabase({ url, monotonicMs });
    const runs = createRuns({ db, wallMs: () => 1, monotonicMs, deadAfterMs: 15_000 });
    const openCalls = new TransitMap<string>();
    const queue = createCommandQueue({
      db,
      runs,
      monotonicMs,
      openCalls,
      onCommit: () => {},
      onLostNote: () => {},
    });
    try {
      await runs.begin(1);
      await queue.hold(holdRequest(caller, "call_alone", {}));
      expect(openCalls.size).toBe(1);
      await queue.settle(settlementOf("call_alone", { units: 1 }));

      const task = { id: "task", expected: { units: 1 }, deadlineAtMs: middayMs + 1, openMax: 1 };
      await queue.hold(holdRequest(caller, "call_with_task", { task }));
      queue.noteDispatched("call_with_task", middayMs);
      // Though nothing is kept of it, everybody sees that it was sent.
      await becomes(async () => (await node(0).receipt(caller, "call_with_task")).state, "dispatched");
      await other.ledger.release({ ...releaseOf("call_with_task"), abandonsTask: true });
      expect(openCalls.size).toBe(0);
    } finally {
      await queue.finish();
      await runs.end();
      await db.close();
    }
  }));
