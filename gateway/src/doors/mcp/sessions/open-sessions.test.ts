import { describe, expect, test } from "bun:test";
import { McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { createOpenSessions } from "./open-sessions.ts";
import { createRunningRequests } from "./running-requests.ts";

const halfHourMs = 30 * 60_000;
const owner = { principal: "key", accountId: "account" };

function open() {
  let nowMs = 0;
  const ended: string[] = [];
  const sessions = createOpenSessions({
    monotonicMs: () => nowMs,
    onEnded: (id) => Promise.resolve(void ended.push(id)),
  });
  const put = (id: string, whose = owner): void =>
    sessions.add(id, {
      ...whose,
      server: new McpServer({ name: "test", version: "0" }),
      transport: new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id }),
      running: createRunningRequests(() => () => {}),
      usedAtMs: nowMs,
      extendedAtMs: nowMs,
      grantId: undefined,
    });
  const add = (id: string): void => {
    expect(sessions.makeRoom(id, owner)).toBeDefined();
    put(id);
  };
  const leaveAll = (ids: readonly string[]): void => {
    nowMs += halfHourMs + 1;
    for (const id of ids) expect(sessions.find(id)).toBeUndefined();
  };
  return { sessions, ended, put, add, leaveAll };
}

const named = (count: number): string[] => Array.from({ length: count }, (_, n) => `s${n}`);

describe("sessions that left memory", () => {
  test("count on, so that one too many ends the one that was idle longest", () => {
    const { sessions, ended, add, leaveAll } = open();
    const ids = named(50);
    for (const id of ids) add(id);
    leaveAll(ids);
    expect([sessions.count(), ended]).toEqual([0, []]);
    add("new");
    expect([sessions.count(), ended]).toEqual([1, ["s0"]]);
    add("newer");
    expect([sessions.count(), ended]).toEqual([2, ["s0", "s1"]]);
  });

  test("take no second place when they come back, and do not give way to themselves", () => {
    const { sessions, ended, add, leaveAll } = open();
    const ids = named(50);
    for (const id of ids) add(id);
    leaveAll(ids);
    for (const id of ids) add(id);
    expect([sessions.count(), ended]).toEqual([50, []]);
  });
});

test("there are five thousand in all, whosever they are, and no more until one leaves", () => {
  const { sessions, put, leaveAll } = open();
  for (const id of named(5_000)) put(id, { principal: id, accountId: id });
  const late = { principal: "late", accountId: "late" };
  expect(sessions.makeRoom("late", late)).toBeUndefined();
  leaveAll(["s0"]);
  expect(sessions.makeRoom("late", late)).toBeDefined();
});
