import { expect, test } from "bun:test";
import { anyKeys, type RunningContestant } from "./contestant.ts";
import { inTurns } from "./in-turns.ts";
import { warmUp } from "./warm-up.ts";

const contestant = { url: "", pid: undefined, keys: anyKeys, close: async () => {} };
const running = new Map<string, RunningContestant>([
  ["a", contestant],
  ["b", { ...contestant, compiles: true }],
  ["c", contestant],
]);

test("each round begins with another contestant, and everybody's rounds stay in their order", async () => {
  const order: string[] = [];
  const figures = await inTurns(running, { rounds: 3, leaveOut: () => {} }, async (_, name) =>
    order.push(name),
  );
  expect(order.join("")).toBe("abcbcacab");
  expect(figures.get("b")).toEqual([2, 4, 9]);
});

test("a contestant that fails leaves for good and is named, and the others go on", async () => {
  const left: string[] = [];
  const leaveOut = (name: string, why: string): void => void left.push(`${name}: ${why}`);
  const figures = await inTurns(running, { rounds: 2, leaveOut }, async (_, name) => {
    if (name === "b") throw new Error("no answer");
    return name;
  });
  expect(left).toEqual(["b: no answer"]);
  expect([...figures]).toEqual([
    ["a", ["a", "a"]],
    ["c", ["c", "c"]],
  ]);
});

test("whoever compiles works until three seconds are alike, the others for one", async () => {
  const costs = [100, 60, 59, 40, 39.5, 39.8, 39.9];
  const worked = new Map<string, number>();
  const options = { bounds: { secondsMin: 2, secondsMax: 30 }, leaveOut: () => {} };
  await warmUp(running, options, async (_, name) => {
    const second = worked.get(name) ?? 0;
    worked.set(name, second + 1);
    return costs[second] ?? 39.9;
  });
  expect([...worked]).toEqual([
    ["a", 1],
    ["b", 6],
    ["c", 1],
  ]);
});
