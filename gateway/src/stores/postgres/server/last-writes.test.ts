import { expect, test } from "bun:test";
import { StoreBusy, StoreFull } from "../../../ledger/store-errors.ts";
import { createLastWrites } from "./last-writes.ts";

function openWrites() {
  let nowMs = 0;
  const writes = createLastWrites(() => nowMs);
  return { ...writes, wait: (ms: number) => void (nowMs += ms) };
}

test("a decision that the server did not take is remembered, whatever beats do, until one is taken", () => {
  const writes = openWrites();
  writes.failed("decision", new StoreFull());
  writes.succeeded("beat");
  expect(writes.check).toThrow(StoreFull);
  writes.succeeded("decision");
  expect(writes.check).not.toThrow();
});

test("a beat that was not taken is remembered until the next one is, or money", () => {
  for (const next of ["beat", "decision"] as const) {
    const writes = openWrites();
    writes.failed("beat", new StoreBusy());
    expect(writes.check).toThrow(StoreBusy);
    writes.succeeded(next);
    expect(writes.check).not.toThrow();
  }
});

test("a node that is sent no calls for a failure is asked for some again", () => {
  const writes = openWrites();
  writes.failed("decision", new StoreFull());
  writes.wait(9_999);
  expect(writes.check).toThrow(StoreFull);
  writes.wait(1);
  expect(writes.check).not.toThrow();
});

test("what says nothing about the server is not remembered", () => {
  const writes = openWrites();
  writes.failed("decision", new Error("a batch that nobody can decide"));
  expect(writes.check).not.toThrow();
});
