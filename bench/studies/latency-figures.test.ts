import { expect, test } from "bun:test";
import { judgeAll } from "../report/judge.ts";
import { findingOf, type Paced } from "./latency-figures.ts";

type Figures = Readonly<Record<string, readonly [requestsPerSecond: number, p50Ms: number]>>;

const paced = (figures: Figures): Paced => ({
  askedPerSecond: 10_000,
  standard: "bare Bun proxy",
  keptShareMin: 0.9,
  results: new Map(
    Object.entries(figures).map(([name, [requestsPerSecond, p50Ms]]) => [
      name,
      [0, 0.01, 0.02].map((noise) => ({
        cpuMicrosPerRequest: 1,
        requestsPerSecond,
        p50Ms: p50Ms + noise,
        p99Ms: 1,
      })),
    ]),
  ),
});

const judged = (figures: Figures) => {
  const [p50] = judgeAll(["latency"], { addedP50: findingOf(paced(figures), "p50Ms") }, false);
  return p50;
};

const others = { direct: [9_800, 0.1], "bare Bun proxy": [9_300, 0.5] } as const;

test("what is added beside what the bare proxy adds is judged when everybody kept the pace", () => {
  expect(judged({ ...others, Tollgate: [8_900, 0.9] })?.verdict).toBe("holds");
  expect(judged({ ...others, Tollgate: [8_900, 1] })?.verdict).toBe("missed");
});

test("whoever did not keep the pace has missed the bar, however quick its answers were", () => {
  expect(judged({ ...others, Tollgate: [6_400, 0.5] })).toMatchObject({
    verdict: "missed",
    why: "reached only 64 % of the pace",
  });
  expect(judged({ ...others, Tollgate: [8_300, 0.5] })?.verdict).toBe("missed");
});

test("nothing is shown when the others did not keep the pace themselves", () => {
  const figures = { ...others, Tollgate: [8_000, 0.5] } as const;
  expect(judged({ ...figures, direct: [8_900, 0.1] })?.verdict).toBe("not shown");
  expect(judged({ ...figures, "bare Bun proxy": [8_000, 0.5] })).toMatchObject({
    verdict: "not shown",
    why: "bare Bun proxy reached only 80 % of the pace",
  });
});

test("beside a bare proxy that seems to add nothing, nothing is measured", () => {
  const figures = { ...others, Tollgate: [9_300, 5] } as const;
  expect(judged({ ...figures, "bare Bun proxy": [9_300, 0.1] })?.verdict).toBe("not measured");
  expect(judged({ ...figures, "bare Bun proxy": [9_300, 0.05] })?.verdict).toBe("not measured");
});

test("the ratio comes with its least and its most", () => {
  expect(judged({ ...others, Tollgate: [8_900, 0.9] })?.ratio).toBe("2 (2–2)");
});
