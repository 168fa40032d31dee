import { expect, test } from "bun:test";
import { readDelayMs, readDelaySeconds, readRetryAfterSeconds } from "./retry-after.ts";

const now = "Wed, 21 Oct 2026 07:28:00 GMT";
const cases: readonly (readonly [
  written: string | undefined,
  date: string | undefined,
  seconds: number | undefined,
])[] = [
  ["7", undefined, 7],
  [" 7 ", now, 7],
  ["0", undefined, 1],
  ["999999999", undefined, 86_400],
  ["Wed, 21 Oct 2026 07:28:42 GMT", now, 42],
  ["Wed, 21 Oct 2026 07:27:00 GMT", now, 1],
  ["Wed, 21 Oct 2026 07:28:42 GMT", undefined, undefined],
  ["soon", now, undefined],
  ["-5", undefined, undefined],
  ["-5", now, undefined],
  ["1/2", now, undefined],
  ["2026", now, 2_026],
  ["2.5", now, 3],
  ["1.5", undefined, 2],
  ["999999999.5", undefined, 86_400],
  ["", now, undefined],
  [undefined, now, undefined],
];

test.each(cases)("Retry-After %p, answered at %p, asks for %p seconds", (written, date, seconds) => {
  expect(readRetryAfterSeconds(written, date)).toBe(seconds);
});

test.each([
  ["37s", 37],
  ["37.2s", 38],
  ["0s", 1],
  ["999999999s", 86_400],
  ["37", undefined],
  ["-1s", undefined],
  [37, undefined],
  [undefined, undefined],
])("a delay of %p asks for %p seconds", (written, seconds) => {
  expect(readDelaySeconds(written)).toBe(seconds);
});

test.each([
  ["20ms", 20],
  ["2.5s", 2_500],
  ["16.1s", 16_100],
  ["1 second", 1_000],
  ["6 seconds", 6_000],
  ["1m26.4s", 86_400],
  ["1h0m2s", 3_602_000],
  ["0.2ms", 1],
  ["999999999h", 86_400_000],
  ["1.2.3s", undefined],
  ["-1s", undefined],
  ["5", undefined],
  ["5s later", undefined],
  [5, undefined],
  [undefined, undefined],
])("a delay of %p asks for %p milliseconds", (written, milliseconds) => {
  expect(readDelayMs(written)).toBe(milliseconds);
});
