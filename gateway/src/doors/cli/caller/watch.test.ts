import { expect, test } from "bun:test";
import { openScriptedGateway } from "../../../../../client/scripted-gateway.ts";
import { createTerminal } from "../test-terminal.ts";

test.concurrent.each([
  ["that nobody knows gives up at once", {}, 1],
  [
    "that was made, and of which nothing is heard, gives up after a while",
    { submit_time: "2026-03-14 12:00:00.000" },
    3,
  ],
])("watch of a task %s, and says so", async (_, told, polls) => {
  const unknown = { status: 200, body: { output: { task_id: "t1", task_status: "UNKNOWN", ...told } } };
  const gateway = await openScriptedGateway({ answers: [unknown, unknown, unknown, unknown] });
  const terminal = createTerminal({
    openStore: () => Promise.reject(new Error("A caller's command opens no store.")),
    caller: () => ({ apiKey: "tgk_test", baseUrl: gateway.transport.baseUrl }),
  });
  try {
    const { exitCode, errors } = await terminal.run("watch", "t1");
    expect([exitCode, errors]).toEqual([
      1,
      ["Nothing is known of a task t1 here; is it this key's account's?"],
    ]);
    expect(gateway.calls).toHaveLength(polls);
  } finally {
    await gateway.close();
  }
});

test.concurrent("watch shows how far a task is while it runs, and clears that away when it has ended", async () => {
  const state = (status: string) => ({
    status: 200,
    body: { output: { task_id: "t1", task_status: status } },
  });
  const gateway = await openScriptedGateway({ answers: [state("RUNNING"), state("SUCCEEDED")] });
  const shown: (string | undefined)[] = [];
  const terminal = createTerminal({
    openStore: () => Promise.reject(new Error("A caller's command opens no store.")),
    caller: () => ({ apiKey: "tgk_test", baseUrl: gateway.transport.baseUrl }),
    showProgress: (line) => void shown.push(line),
  });
  try {
    const startedMs = performance.now();
    const { exitCode, out } = await terminal.run("watch", "t1");
    const tookSeconds = (performance.now() - startedMs) / 1_000;
    expect(exitCode).toBe(0);
    expect(out).toEqual(["task    t1", "status  SUCCEEDED"]);
    expect(shown).toHaveLength(3);
    expect(shown[0]).toMatch(/^RUNNING {3}░{30} 0 s /);
    const [, filled = "", empty = "", seconds = ""] =
      /^SUCCEEDED (█+)(░+) (\d+) s /.exec(shown[1] ?? "") ?? [];
    expect(Number(seconds)).toBeWithin(3, Math.round(tookSeconds) + 1);
    // Each of thirty places stands for three of ninety seconds.
    expect([filled.length, empty.length]).toEqual([
      Math.round(Number(seconds) / 3),
      30 - Math.round(Number(seconds) / 3),
    ]);
    expect(shown[2]).toBeUndefined();
  } finally {
    await gateway.close();
  }
});

test.concurrent("watch of a gateway that never answers ends in time, and says that the charge is not known", async () => {
  const gateway = await openScriptedGateway({ answers: ["never"] });
  const terminal = createTerminal({
    openStore: () => Promise.reject(new Error("A caller's command opens no store.")),
    caller: () => ({ apiKey: "tgk_test", baseUrl: gateway.transport.baseUrl }),
  });
  try {
    const { exitCode, errors } = await terminal.run("watch", "t1", "--timeout-seconds", "1");
    expect(exitCode).toBe(1);
    expect(errors).toEqual([
      "Nothing was heard of the task for 1 s; it may still be running. " +
        "Whether money moved is not known; the receipt will tell. (task_not_final)",
    ]);
  } finally {
    await gateway.close();
  }
});
