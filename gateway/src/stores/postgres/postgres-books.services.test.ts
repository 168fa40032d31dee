// What two nodes do to the same rows at once. What one node does is in the conformance suites.

import { afterEach, expect, test } from "bun:test";
import { openTestDatabase } from "../../../../test/services/postgres.ts";
import { openApprovalsMax, type NewApproval } from "../../approvals/approvals.ts";
import type { Store } from "../../store/store.ts";
import { publicationsConformance } from "../../contract/publications-conformance.ts";
import { publicationsMax } from "../../contract/publications.ts";
import { idempotencyKeptMs } from "../../ledger/idempotency-key.ts";
import { openApplicationsMax } from "../../ledger/quota-applications.ts";
import {
  middayMs,
  withBooks,
  type Caller,
  type TestBooks,
} from "../../ledger/conformance/shared-conformance.ts";
import { applicationOf } from "../../ledger/conformance/test-application.ts";
import { openPostgresStore } from "./postgres-store.ts";

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

publicationsConformance(async () => {
  const { url, drop } = await openTestDatabase({ template: migrated });
  const store = await openPostgresStore({ url, connectionsMax: 2 });
  cleanUps.push(drop, store.close);
  return store.publications;
});

nodesTest("a transfer books once, to whatever account and as whatever it comes", async (books, nodes) => {
  const callers = [
    await books.openCaller({ creditMicros: 0n }),
    await books.openCaller({ creditMicros: 0n }),
  ];
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      callers.flatMap(({ accountId }) =>
        nodes.flatMap(({ accounts }) => {
          const payment = { transferId: `t${round}`, accountId, amountMicros: 7n, nowMs: middayMs };
          return [accounts.topUp(payment), accounts.adjust({ ...payment, reason: "the same" })];
        }),
      ),
    );
  }
  const balances = await Promise.all(callers.map(books.balance));
  expect(balances.reduce((sum, { posted }) => sum + posted, 0n)).toBe(35n);
});

nodesTest("payments, corrections and calls at once lose nothing of each other", async (books, nodes) => {
  const caller = await books.openCaller({ creditMicros: 1_000n });
  const { accountId } = caller;
  await Promise.all(
    Array.from({ length: 40 }, async (_, at) => {
      const { accounts } = nodeOf(nodes, at);
      const payment = { transferId: `t${at}`, accountId, nowMs: middayMs };
      if (at % 4 === 0) return books.settle(await books.held(caller, { amountMicros: 5n }), { units: 5 });
      if (at % 4 === 1) return accounts.update(accountId, { planMultiplierPpm: 1_000_000n });
      if (at % 4 === 2) return accounts.topUp({ ...payment, amountMicros: 70n });
      return accounts.adjust({ ...payment, amountMicros: -20n, reason: "a refund outside" });
    }),
  );
  expect(await books.balance(caller)).toEqual({ posted: 1_450n, held: 0n });
  expect(await books.store().accounts.find(accountId)).toMatchObject({
    toppedUpMicros: 700n,
    tier: "starter",
  });
});

nodesTest("of two corrections that cannot both be had, one is refused", async (books, nodes) => {
  const caller = await books.openCaller({ creditMicros: 10n });
  const { accountId } = caller;
  const taken = await Promise.all(
    nodes.map(({ accounts }, at) =>
      accounts.adjust({ transferId: `t${at}`, accountId, amountMicros: -6n, nowMs: middayMs, reason: "r" }),
    ),
  );
  expect(taken.filter((answer) => answer && "refused" in answer)).toEqual([
    { refused: "insufficient_balance", availableMicros: 4n },
  ]);
  expect(await books.balance(caller)).toEqual({ posted: 4n, held: 0n });
});

nodesTest("changes of an account or a key by two at once are both there", async (books, [one, other]) => {
  const { accountId, keyId } = await books.openCaller();
  for (let round = 1; round <= 5; round++) {
    await Promise.all([
      one.accounts.update(accountId, { suspended: round % 2 === 1 }),
      other.accounts.update(accountId, { grantedLimits: { rpm: round } }),
      one.keys.update(keyId, { name: `name ${round}` }),
      other.keys.update(keyId, { budget: { limitMicros: BigInt(round), window: "day" } }),
    ]);
    expect(await other.accounts.find(accountId)).toMatchObject({
      suspended: round % 2 === 1,
      grantedLimits: { rpm: round },
    });
    expect(await one.keys.find(keyId)).toMatchObject({
      name: `name ${round}`,
      budget: { limitMicros: BigInt(round), window: "day" },
    });
  }
});

nodesTest("however many rotate a key at once, one secret stays when the grace ends", async (books, nodes) => {
  const { keyId } = await books.openCaller();
  await Promise.all(Array.from({ length: 8 }, (_, at) => rotate(nodeOf(nodes, at), keyId, `secret ${at}`)));
  const key = await books.store().keys.find(keyId);
  expect(key?.secrets).toHaveLength(9);
  expect(key?.secrets.map(({ expiresAtMs }) => expiresAtMs)).toEqual([
    undefined,
    ...Array.from({ length: 8 }, () => middayMs + 60_000),
  ]);
});

nodesTest("a rotation beside a revocation comes before it, or not at all", async (books, [one, other]) => {
  const caller = await books.openCaller();
  for (let round = 0; round < 10; round++) {
    const { keyId } = await books.openKey(caller);
    const [rotated] = await Promise.all([
      rotate(one, keyId, `secret ${round}`),
      other.keys.revoke(keyId, middayMs + 1),
    ]);
    const key = await one.keys.find(keyId);
    expect(key?.revokedAtMs).toBe(middayMs + 1);
    expect(key?.secrets).toHaveLength(rotated ? 2 : 1);
    expect(rotated?.revokedAtMs).toBeUndefined();
  }
});

nodesTest("no more applications are open than may be, whoever takes them in", async (books, nodes) => {
  const caller = await books.openCaller();
  const filed = await Promise.all(
    Array.from({ length: openApplicationsMax * 2 }, (_, at) =>
      nodeOf(nodes, at).quotas.file(applicationOf(caller, `app_${at}`)),
    ),
  );
  expect(filed.filter(({ kind }) => kind === "filed")).toHaveLength(openApplicationsMax);
  expect(await books.store().quotas.list("open")).toHaveLength(openApplicationsMax);
});

nodesTest("an Idempotency-Key files one application, and another one a day later", async (books, nodes) => {
  const caller = await books.openCaller();
  const idempotency = { keyHash: new Uint8Array([1]), fingerprint: new Uint8Array([2]) };
  const filed = await Promise.all(
    Array.from({ length: 6 }, (_, at) =>
      nodeOf(nodes, at).quotas.file({ ...applicationOf(caller, `app_${at}`), idempotency }),
    ),
  );
  const [open, ...more] = await books.store().quotas.list("open");
  expect(more).toEqual([]);
  const conflicts = filed.flatMap((answer) => (answer.kind === "idempotency_conflict" ? answer.earlier : []));
  expect(conflicts.map(({ callId, sameRequest }) => [callId, sameRequest])).toEqual(
    Array.from({ length: 5 }, () => [open?.id ?? "", true]),
  );
  const later = { ...applicationOf(caller, "later"), createdAtMs: middayMs + idempotencyKeptMs + 1 };
  expect(await books.store().quotas.file({ ...later, idempotency })).toMatchObject({ kind: "filed" });
});

nodesTest("an application is decided once, and only what was decided takes effect", async (books, nodes) => {
  for (let round = 0; round < 5; round++) {
    const caller = await books.openCaller();
    await books.store().quotas.file(applicationOf(caller, `app_${round}`));
    const decided = await Promise.all(
      nodes.flatMap(({ quotas }, at) => [
        quotas.approve(`app_${round}`, { tier: "growth", limits: { rpm: 10 + at } }, middayMs + at),
        quotas.deny(`app_${round}`, middayMs + 5),
      ]),
    );
    const [decision, ...more] = decided.filter((answer) => answer !== undefined);
    expect(more).toEqual([]);
    const isApproved = decision?.state === "approved";
    expect(await books.store().accounts.find(caller.accountId)).toMatchObject({
      tier: isApproved ? "growth" : "free",
      grantedLimits: isApproved ? { rpm: 10 + (decision.decidedAtMs ?? 0) - middayMs } : {},
    });
  }
});

nodesTest("whoever asks the same at two nodes at once has one question open", async (books, nodes) => {
  const caller = await books.openCaller();
  for (let round = 0; round < 5; round++) {
    const asked = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        nodeOf(nodes, at).approvals.open(question(caller, `apr_${round}_${at}`, `what ${round}`)),
      ),
    );
    expect(new Set(asked.map(({ id }) => id)).size).toBe(1);
  }
});

nodesTest("no more questions of an asker are open than may be, whoever is asked", async (books, nodes) => {
  const caller = await books.openCaller();
  const asked = await Promise.all(
    Array.from({ length: openApprovalsMax + 20 }, (_, at) =>
      nodeOf(nodes, at).approvals.open(question(caller, `apr_${at}`, `what ${at}`)),
    ),
  );
  const found = await Promise.all(asked.map(({ id }) => nodes[0].approvals.find(id, caller.accountId)));
  expect(found.filter((approval) => approval !== undefined)).toHaveLength(openApprovalsMax);
});

nodesTest("nodes that publish together keep no more than may be kept", async (_, nodes) => {
  for (let at = 0; at < publicationsMax + 20; at += 10) {
    await Promise.all(
      Array.from({ length: 10 }, (__, offset) =>
        nodeOf(nodes, offset).publications.keep({
          kind: "sales",
          contentHash: `${at + offset}`,
          revision: "r",
          publishedAtMs: at + offset,
          bytes: new Uint8Array([1]),
        }),
      ),
    );
  }
  expect(await nodes[0].publications.list("sales", publicationsMax * 2)).toHaveLength(publicationsMax);
});

nodesTest("data belongs to the first secret, of however many claim it at once", async (_, [one, other]) => {
  const claimed = await Promise.all([one.claimSecret("ours"), other.claimSecret("theirs")]);
  expect(claimed.filter(Boolean)).toHaveLength(1);
  expect(await other.claimSecret("ours")).toBe(claimed[0]);
});

nodesTest("charges are found behind any number of calls that cost nothing", async (books) => {
  const caller = await books.openCaller({ creditMicros: 1_000n });
  const daysMs = [0, 3, 4].map((days) => middayMs + days * 86_400_000);
  const charges: string[] = [];
  for (const atMs of daysMs) {
    const callId = await books.held(caller, { amountMicros: 10n });
    await books.settle(callId, { units: 10 }, { atMs });
    charges.unshift(callId);
    const free = await Promise.all(
      Array.from({ length: 1_100 }, () => books.held(caller, { amountMicros: 0n })),
    );
    await Promise.all(free.map((id, at) => books.settle(id, {}, { atMs: atMs + 1 + at * 70 })));
  }
  const read = async (limit: number, before: { id: string } | undefined) => {
    const page = await books.store().accounts.entries(caller.accountId, { limit, before });
    if (!page || "refused" in page) throw new Error("There are no entries.");
    return [page.entries.map(({ id, balanceMicros }) => [id, balanceMicros]), page.hasMore];
  };
  const [third = "", second = "", first = ""] = charges;
  const grant = [`grant:${caller.accountId}`, 1_000n];
  expect(await read(2, undefined)).toEqual([
    [
      [third, 970n],
      [second, 980n],
    ],
    true,
  ]);
  expect(await read(2, { id: second })).toEqual([[[first, 990n], grant], false]);
  expect(await read(9, undefined)).toEqual([[[third, 970n], [second, 980n], [first, 990n], grant], false]);
});

type Nodes = readonly [Store, Store];

function nodesTest(name: string, run: (books: TestBooks, nodes: Nodes) => Promise<void>): void {
  test(name, async () => {
    const { url, drop } = await openTestDatabase({ template: migrated });
    const open = () => openPostgresStore({ url, connectionsMax: 4 });
    const nodes: Nodes = [await open(), await open()];
    const opened = {
      store: nodes[0],
      reopen: open,
      close: async () => {
        for (const node of nodes) await node.close();
        await drop();
      },
    };
    await withBooks(
      async () => opened,
      (books) => run(books, nodes),
    );
  });
}

async function migrated(url: string): Promise<void> {
  const store = await openPostgresStore({ url });
  await store.close();
}

const nodeOf = ([one, other]: Nodes, at: number): Store => (at % 2 === 0 ? one : other);

const rotate = ({ keys }: Store, keyId: string, secret: string) =>
  keys.rotate({
    keyId,
    secretHash: new TextEncoder().encode(secret),
    last4: secret.slice(-4),
    nowMs: middayMs,
    graceEndsAtMs: middayMs + 60_000,
  });

const question = ({ accountId, keyId }: Caller, id: string, text: string): NewApproval => ({
  id,
  accountId,
  keyId,
  grantId: undefined,
  asker: "An agent",
  items: [
    {
      operationId: "conformance.sold",
      digest: new TextEncoder().encode(text),
      capMicros: 500n,
      expectedMicros: 1n,
      summary: text,
      arguments: text,
      argumentsCut: false,
    },
  ],
  createdAtMs: middayMs,
  expiresAtMs: middayMs + 60_000,
});
