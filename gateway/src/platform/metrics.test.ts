import { expect, test } from "bun:test";
import { createMetrics } from "./metrics.ts";

test("durations are told by bounds that include those before them", () => {
  const metrics = createMetrics();
  for (const tookMs of [3, 5, 40, 400_000, -7]) {
    metrics.observe("tollgate_upstream_seconds", { upstream: "a" }, tookMs);
  }
  const lines = metrics.render().split("\n");
  const bucket = (le: string, count: number) =>
    `tollgate_upstream_seconds_bucket{upstream="a",le="${le}"} ${count}`;
  for (const line of [
    "# TYPE tollgate_upstream_seconds histogram",
    bucket("0.005", 3),
    bucket("0.025", 3),
    bucket("0.05", 4),
    bucket("300", 4),
    bucket("+Inf", 5),
    'tollgate_upstream_seconds_sum{upstream="a"} 400.048',
    'tollgate_upstream_seconds_count{upstream="a"} 5',
  ]) {
    expect(lines).toContain(line);
  }
});

test("a counter has one line for each set of labels, and a gauge is read when it is asked for", () => {
  const metrics = createMetrics();
  let open = 1;
  metrics.gauge("tollgate_calls_in_flight", () => open);
  metrics.count("tollgate_refusals_total", { code: "a" });
  metrics.count("tollgate_refusals_total", { code: 'b"\n' }, 2);
  metrics.count("tollgate_refusals_total", { code: "a" });
  open = 7;
  const lines = metrics.render().split("\n");
  expect(lines.filter((line) => line.startsWith("tollgate_"))).toEqual([
    'tollgate_refusals_total{code="a"} 2',
    'tollgate_refusals_total{code="b__"} 2',
    "tollgate_calls_in_flight 7",
  ]);
});
