// What becomes of a person's approval when no upstream did anything for its call. Every test ends with an audit.

import { expect, test } from "bun:test";
import type { ApprovalItem } from "../../approvals/approvals.ts";
import { digest, openApproval } from "./approvals-conformance.ts";
import { releaseOf, withBooks, type OpenStore } from "./shared-conformance.ts";

const shown: ApprovalItem = {
  operationId: "conformance.sold",
  digest: digest("a"),
  capMicros: 500n,
  expectedMicros: 1n,
  summary: "a",
  arguments: "a",
  argumentsCut: false,
};
const used = { kind: "approval_required", reason: "used" } as const;

export function freedApprovalsConformance(openStore: OpenStore): void {
  test("a call that certainly never happened frees its approval; any other end keeps it", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const approval = { id: await openApproval(books, caller), digest: digest("a") };
      const releaseUndone = (callId: string) =>
        books.store().ledger.release({ ...releaseOf(callId), freedApprovalId: approval.id });

      const never = await books.held(caller, { approval });
      expect(await books.hold(caller, { approval })).toEqual(used);
      await releaseUndone(never);
      await books.restart();
      const failed = await books.held(caller, { approval });
      // The first call's late second end must not free what another call has by now.
      await releaseUndone(never);
      expect(await books.hold(caller, { approval })).toEqual(used);
      await books.release(failed);
      // Nor is it free when somebody says so after an end that knew what became of the call.
      await releaseUndone(failed);
      expect(await books.hold(caller, { approval })).toEqual(used);
    }));

  test("of two equal calls that were approved together, one gives back its own approval alone", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const items = [shown, shown];
      const approval = { id: await openApproval(books, caller, { items }), digest: shown.digest };
      const never = await books.held(caller, { approval });
      await books.held(caller, { approval });
      await books.store().ledger.release({ ...releaseOf(never), freedApprovalId: approval.id });
      await books.held(caller, { approval });
      expect(await books.hold(caller, { approval })).toEqual(used);
    }));

  test("of those who want an approval while it is freed, one has it at most", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const approval = { id: await openApproval(books, caller), digest: digest("a") };
      const never = await books.held(caller, { approval });
      const [, ...results] = await Promise.all([
        books.store().ledger.release({ ...releaseOf(never), freedApprovalId: approval.id }),
        ...Array.from({ length: 5 }, () => books.hold(caller, { approval })),
      ]);
      const refused = results.filter(({ kind }) => kind !== "held");
      expect(refused.length).toBeGreaterThanOrEqual(4);
      for (const refusal of refused) expect(refusal).toEqual(used);
    }));
}
