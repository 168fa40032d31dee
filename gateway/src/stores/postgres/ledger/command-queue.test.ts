import { expect, test } from "bun:test";
import { until } from "../../../../../test/support/until.ts";
import { releaseOf } from "../../../ledger/conformance/shared-conformance.ts";
import { TransitMap } from "../../../platform/transit-map.ts";
import type { Database } from "../server/database.ts";
import type { Query } from "../server/query.ts";
import { createCommandQueue } from "./command-queue.ts";

/** Longer than notes wait for a transaction that comes anyway. */
const timeOfNotesMs = 150;

test("how far a stream is waits for a transaction that comes anyway, for a while", async () => {
  const { queue, transactions, commit } = openQueue();
  const other = queue.release(releaseOf("call_other"));
  await until(() => transactions.length === 1);
  queue.noteProgress("call_streamed", { output_tokens: 1 });
  commit();
  await other;
  await turns();
  expect(transactions).toEqual([""]);

  const next = queue.release(releaseOf("call_next"));
  commit();
  await next;
  await Bun.sleep(timeOfNotesMs);
  expect(transactions).toEqual(["", "progress of call_streamed"]);
});

test("how far a stream is is written although nothing else is", async () => {
  const { queue, transactions, commit } = openQueue();
  queue.noteProgress("call_streamed", { output_tokens: 1 });
  await turns();
  expect(transactions).toEqual([]);
  await until(() => transactions.length === 1);
  commit();
  await Bun.sleep(timeOfNotesMs);
  expect(transactions).toEqual(["progress of call_streamed"]);
});

test("of a call that has ended nobody writes how far it was", async () => {
  const { queue, transactions, commit } = openQueue();
  const end = queue.release(releaseOf("call_streamed"));
  await until(() => transactions.length === 1);
  queue.noteProgress("call_streamed", { output_tokens: 1 });
  commit();
  await end;
  await Bun.sleep(timeOfNotesMs);
  expect(transactions).toEqual([""]);
});

test("notes whose time comes during a transaction are written by the next one", async () => {
  const { queue, transactions, commit } = openQueue();
  queue.noteDispatched("call_first", 1);
  await until(() => transactions.length === 1);
  queue.noteDispatched("call_second", 2);
  await Bun.sleep(timeOfNotesMs);
  commit();
  await until(() => transactions.length === 2);
  commit();
  await Bun.sleep(timeOfNotesMs);
  expect(transactions).toEqual(["sending of call_first", "sending of call_second"]);
});

test("notes wait for their own time, and not for that of a call that has ended", async () => {
  const { queue, transactions, commit } = openQueue();
  const end = queue.release(releaseOf("call_first"));
  queue.noteDispatched("call_first", 1);
  await Bun.sleep(timeOfNotesMs);
  commit();
  await end;
  queue.noteDispatched("call_second", 2);
  const next = queue.release(releaseOf("call_next"));
  commit();
  await next;
  expect(transactions).toEqual(["", ""]);
});

test("whoever closes writes the notes before their time", async () => {
  const { queue, transactions, commit } = openQueue();
  queue.noteDispatched("call_streamed", 1);
  queue.noteProgress("call_streamed", { output_tokens: 1 });
  commit();
  await queue.finish();
  expect(transactions).toEqual(["progress of call_streamed, sending of call_streamed"]);
});

/** On a server that knows no call, and commits when it is told to: what notes it was given, by transaction. */
function openQueue() {
  const transactions: string[] = [];
  let committed = Promise.withResolvers<void>();
  const decide: Database["decide"] = async (look) => {
    const { result, writes } = await look(query);
    transactions.push(
      writes.map(({ statement, values }) => `${noteIn(statement)} of ${callIn(values)}`).join(", "),
    );
    await committed.promise;
    committed = Promise.withResolvers();
    return result;
  };
  const refuse = (): never => {
    throw new Error("A queue only decides.");
  };
  const queue = createCommandQueue({
    db: {
      decide,
      read: refuse,
      readPatiently: refuse,
      readMoment: refuse,
      write: refuse,
      writePatiently: refuse,
      beat: refuse,
      ping: refuse,
      close: refuse,
    },
    runs: {
      current: () => 1n,
      begin: refuse,
      goOnAfter: refuse,
      beatMs: 1_000,
      beat: refuse,
      end: refuse,
    },
    monotonicMs: () => performance.now(),
    openCalls: new TransitMap(),
    onCommit: () => {},
    onLostNote: (_, error) => {
      throw error;
    },
  });
  return { queue, transactions, commit: () => committed.resolve() };
}

/** Only of the run is there a row, and this is all that is asked of it. */
const query: Query = async <Row>(text: string) =>
  (/\bFROM run\b/.test(text) ? [{ id: 1n, ended: false }] : []) as Row[];

const noteIn = (statement: string): string => (statement.includes("progress") ? "progress" : "sending");
const callIn = (values: readonly (string | number)[]): string =>
  String(values[0]).match(/call_\w+/)?.[0] ?? "";

/** More than a queue takes to begin a transaction. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
}
