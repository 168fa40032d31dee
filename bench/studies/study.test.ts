import { expect, test } from "bun:test";
import type { Contestant } from "../rig/contestant.ts";
import { takingPart, type Study } from "./study.ts";

const open = () => Promise.reject(new Error("not opened here"));
const newcomer: Contestant = { name: "newcomer", open };
const slow: Contestant = { name: "slow", sitsOut: ["soak"], open };
const contestants = [newcomer, slow];

const study = (name: Study["name"], inShort?: readonly Contestant[]): Study => ({
  name,
  ...(inShort ? { inShort } : {}),
  expectedSeconds: () => 0,
  run: () => Promise.reject(new Error("not run here")),
});

test("a new contestant takes part in every study unless it sits out", () => {
  expect(takingPart(study("chat"), { short: false, contestants })).toEqual([newcomer, slow]);
  expect(takingPart(study("soak"), { short: false, contestants })).toEqual([newcomer]);
});

test("the short form takes those it has time for, and nobody who sits out", () => {
  expect(takingPart(study("chat", [slow]), { short: true, contestants })).toEqual([slow]);
  expect(takingPart(study("soak", [slow]), { short: true, contestants })).toEqual([]);
  expect(takingPart(study("chat", [slow]), { short: false, contestants })).toEqual([newcomer, slow]);
});
