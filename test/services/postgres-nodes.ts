// Several processes on one Postgres, as far as its store can tell: each has connections and a run of its own.

import { expect } from "bun:test";
import {
  createTestBooks,
  middayMs,
  operationId,
  terms,
  type TestBooks,
} from "../../gateway/src/ledger/conformance/shared-conformance.ts";
import {
  openPostgresStore,
  type PostgresStoreOptions,
} from "../../gateway/src/stores/postgres/postgres-store.ts";
import { openTestDatabase } from "./postgres.ts";

export interface TestNodes {
  readonly url: string;
  readonly nodes: readonly TestBooks[];
  /** Any of them; always the same one for the same number. */
  readonly node: (number: number) => TestBooks;
}

interface NodesOptions {
  readonly count?: number;
  /** An empty database of a server that may be harmed, instead of one on the server that all tests share. */
  readonly url?: string;
  readonly deadAfterMs?: number;
}

/** Runs one test on nodes of its own, and proves their books afterwards. */
export async function withNodes(
  { count = 3, url: givenUrl, deadAfterMs }: NodesOptions,
  run: (nodes: TestNodes) => Promise<void>,
): Promise<void> {
  const database = givenUrl === undefined ? await openTestDatabase({ template: migrated }) : undefined;
  const url = givenUrl ?? database?.url ?? "";
  const nodes: TestBooks[] = [];
  try {
    for (let n = 1; n <= count; n++) nodes.push(await openNode({ url, name: `n${n}_`, deadAfterMs }));
    const node = (number: number): TestBooks => {
      const found = nodes[number % nodes.length];
      if (!found) throw new Error("There are no nodes.");
      return found;
    };
    await run({ url, nodes, node });
    expect((await node(0).store().auditor.audit()).findings).toEqual([]);
  } finally {
    await Promise.all(nodes.map((books) => books.store().close()));
    await database?.drop();
  }
}

interface NodeOptions extends Pick<PostgresStoreOptions, "url" | "clock" | "onCommit"> {
  /** Keeps the ids that it makes apart from those of others. */
  readonly name: string;
  readonly deadAfterMs?: number | undefined;
}

/** A store that serves. */
export async function openNode({ name, deadAfterMs, ...options }: NodeOptions): Promise<TestBooks> {
  const store = await openPostgresStore({
    ...options,
    connectionsMax: 6,
    ...(deadAfterMs === undefined ? {} : { deadAfterMs }),
  });
  await store.ledger.beginRun(middayMs);
  await store.ledger.recordPrices([{ operationId, model: undefined, terms }]);
  const stays = () => Promise.reject(new Error("A node is not opened twice."));
  return createTestBooks(() => store, stays, name);
}

const migrated = async (url: string): Promise<void> => {
  const store = await openPostgresStore({ url });
  await store.close();
};

/** How often each kind of answer was given. */
export function countKinds(results: readonly { readonly kind: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of results) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** The same for each seed, so that what failed can be repeated. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % below;
  };
}

export async function waitUntil(isSo: () => Promise<boolean>, patienceMs: number): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`It was not so within ${patienceMs} ms.`);
    await Bun.sleep(20);
  }
}
