import { expect, test } from "bun:test";
import { bars } from "../bars.ts";
import { judgeAll } from "./judge.ts";

const studies = ["chat", "history"];

test("only a measured ratio within its limit holds", () => {
  const judged = judgeAll(
    studies,
    {
      chatBesideBare: { ratios: [1.2, bars.chatBesideBare.atMost, 9] },
      chatBesideNginx: { ratios: [6.1] },
      portkeyBesideChat: { ratios: [15, 20, 2] },
      usageReport: { ratios: [1], notShown: "the disk is small" },
    },
    false,
  );
  expect(judged.map(({ verdict }) => verdict)).toEqual([
    "holds",
    "missed",
    "holds",
    "not shown",
    "not measured",
  ]);
  expect(judged.map(({ why }) => why)[3]).toBe("the disk is small");
});

test("a ratio that is not positive is noise, and no pass", () => {
  const verdict = (ratio: number) => judgeAll(["latency"], { addedP50: { ratios: [ratio] } }, false)[0];
  expect(verdict(-4)?.verdict).toBe("not measured");
  expect(verdict(0)?.verdict).toBe("not measured");
});

test("a reason to miss a bar outweighs its ratio", () => {
  const findings = { addedP50: { ratios: [1], missedFor: "too slow" } };
  expect(judgeAll(["latency"], findings, false)[0]).toMatchObject({ verdict: "missed", why: "too slow" });
});

test("a study that found nothing does not hide its bars, and one that was not to run has none", () => {
  const judged = judgeAll(["refusals"], {}, false);
  expect(judged.map(({ promise }) => promise.slice(0, 11))).toEqual([
    "Refusal 401",
    "Refusal 402",
    "Refusal 429",
  ]);
  expect(judged.every(({ verdict }) => verdict === "not measured")).toBe(true);
});

test("the short form judges by its own limits, and only what it measures", () => {
  const findings = { chatBesideBare: { ratios: [bars.chatBesideBare.inShort] } };
  const [bare, ...others] = judgeAll(["chat"], findings, true);
  expect(bare?.verdict).toBe("holds");
  expect(others.map(({ promise }) => promise)).not.toContain(bars.portkeyBesideChat.promise);

  const promises = (short: boolean) => judgeAll(["latency"], {}, short).map(({ promise }) => promise);
  expect(promises(true)).toEqual([bars.addedP50Easily.promise]);
  expect(promises(false)).toEqual([bars.addedP50.promise, bars.addedP99.promise]);
});
