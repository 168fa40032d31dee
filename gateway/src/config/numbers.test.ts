import { expect, test } from "bun:test";
import { parseConfig } from "./load-config.ts";

const parse = (quota: string) =>
  parseConfig(
    `
upstreams: { findata: { protocol: financialdatasets, url: "https://a.example", key: k, quota_rpm: "\${QUOTA}", weight: "\${WEIGHT}" } }
tiers: { free: { rpm: "\${QUOTA}" } }`,
    "tollgate.yaml",
    { QUOTA: quota, WEIGHT: "0.5" },
  );

test("a number may come from the environment", () => {
  const { upstreams, tiers } = parse("5000");
  expect([...upstreams.values()]).toMatchObject([{ quotaRpm: 5000, weight: 0.5 }]);
  expect(tiers.free).toMatchObject({ rpm: 5000 });
});

test.each(["many", "0", "-5", "2.5", "1e3", " 5"])(
  "%j from the environment is no number of calls",
  (quota) => {
    expect(() => parse(quota)).toThrow("upstreams.findata.quota_rpm");
  },
);

test("no upstream is waited for longer than an hour, or calls would outlast their places", () => {
  const parseTimeout = (timeoutMs: number) =>
    parseConfig(
      `upstreams: { findata: { protocol: financialdatasets, url: "https://a.example", key: k, timeout_ms: ${timeoutMs} } }`,
      "tollgate.yaml",
      {},
    );
  expect([...parseTimeout(3_600_000).upstreams.values()]).toMatchObject([{ timeoutMs: 3_600_000 }]);
  expect(() => parseTimeout(3_600_001)).toThrow(/upstreams\.findata\.timeout_ms.*3600000/s);
});
