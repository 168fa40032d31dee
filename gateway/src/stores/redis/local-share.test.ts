import { expect, test } from "bun:test";
import type { RateWant } from "../../limits/limiter.ts";
import { createMemoryLimiter } from "../memory-limiter.ts";
import { createLocalShare } from "./local-share.ts";

const tokens = (amount: number): RateWant => ({
  kind: "rate",
  of: "tokens",
  name: "r",
  amount,
  limit: 90,
});

test("what comes back counts for as many nodes as what was taken, though there are more by now, or fewer", () => {
  let [nowMs, nodes] = [0, 1];
  const share = createLocalShare(
    createMemoryLimiter(() => nowMs),
    () => nodes,
  );
  const takeAmong = (count: number) => {
    [nowMs, nodes] = [nowMs + 10, count];
    const take = share.take([tokens(10)]);
    if (take.kind === "refused") throw new Error("There was room.");
    return take.takenAt;
  };
  const [amongOne, amongThree, amongTwo] = [takeAmong(1), takeAmong(3), takeAmong(2)];
  expect(share.look(tokens(1)).remaining).toBe(90 - 10 - 30 - 20);
  share.correct(tokens(10), 4, amongOne);
  expect(share.look(tokens(1)).remaining).toBe(90 - 4 - 30 - 20);
  share.correct(tokens(10), 4, amongThree);
  expect(share.look(tokens(1)).remaining).toBe(90 - 4 - 12 - 20);
  nodes = 9;
  share.giveBack([tokens(10)], amongTwo);
  expect(share.look(tokens(1)).remaining).toBe(90 - 4 - 12);
});
