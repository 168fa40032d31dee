// Every bar of the benchmark, in one place: what is promised about a ratio within one run. Absolute figures belong to a
// machine and are never judged.

import type { StudyName } from "./studies/study.ts";

export interface Bar {
  /** The study that measures it. */
  readonly study: StudyName;
  readonly promise: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /**
   * What continuous integration holds us to, whose rounds are few and whose machine is shared: the bar with room for
   * noise, or, where the bar is not reached yet, about twice what is, so that a doubling is noticed. Absent where the
   * short form does not measure; alone where only the short form does.
   */
  readonly inShort?: number;
}

export const bars = {
  chatBesideBare: {
    study: "chat",
    promise: "Chat, 64 connections: CPU beside the bare Bun proxy",
    atMost: 1.5,
    inShort: 4,
  },
  chatBesideNginx: {
    study: "chat",
    promise: "Chat, 64 connections: CPU beside nginx as a proxy",
    atMost: 6,
    inShort: 9,
  },
  portkeyBesideChat: {
    study: "chat",
    promise: "Chat, 64 connections: Portkey's CPU beside ours",
    atLeast: 15,
  },
  addedP50: {
    study: "latency",
    promise: "Added latency, p50, at half of the bare proxy's best: beside what it adds",
    atMost: 2,
  },
  addedP99: {
    study: "latency",
    promise: "Added latency, p99, at half of the bare proxy's best: beside what it adds",
    atMost: 3,
  },
  // A disk that others use takes its time for an fsync, so the short form compares with whoever waits for as many.
  addedP50Easily: {
    study: "latency",
    promise: "Added latency, p50, at a tenth of the bare proxy's best: beside what the metered proxy adds",
    inShort: 3,
  },
  eventOfFew: {
    study: "streams",
    promise: "SSE, 16 open: CPU per event beside the bare Bun pass-through",
    atMost: 1.5,
    inShort: 2.5,
  },
  eventOfMany: {
    study: "open-streams",
    promise: "SSE, 1,000 open: CPU per event beside the bare Bun pass-through",
    atMost: 1.5,
    inShort: 3,
  },
  memoryOfMany: {
    study: "open-streams",
    promise: "SSE, 1,000 open: memory beside the bare Bun pass-through",
    atMost: 3,
    inShort: 4.5,
  },
  refusal401: {
    study: "refusals",
    promise: "Refusal 401: CPU beside a served call",
    atMost: 0.5,
    inShort: 0.7,
  },
  refusal402: {
    study: "refusals",
    promise: "Refusal 402: CPU beside a served call",
    atMost: 0.5,
    inShort: 0.7,
  },
  refusal429: {
    study: "refusals",
    promise: "Refusal 429: CPU beside a served call",
    atMost: 0.5,
    inShort: 0.7,
  },
  usageReport: {
    study: "history",
    promise: "Usage report on the long history beside the short one",
    atMost: 2,
    inShort: 3,
  },
  startUp: {
    study: "history",
    promise: "Start-up on the long history beside the short one",
    atMost: 2,
    inShort: 3,
  },
  // Some of a heap still settles after half of the calls. What keeps 250 bytes of each of half a million calls, or 700 of
  // each of the short form's, ends above.
  memoryOfSoak: {
    study: "soak",
    promise: "Soak: memory in the last quarter of the calls beside the one before half",
    atMost: 1.3,
    inShort: 1.3,
  },
  sharedCommits: {
    study: "commits",
    promise: "256 callers of the ledger beside one, where an fsync takes 1 ms longer: calls held and settled",
    atLeast: 10,
    inShort: 10,
  },
  quotaOfTasks: {
    study: "tasks",
    promise: "Open tasks: questions a second beside the vendor's quota",
    atLeast: 0.5,
  },
  memoryOfTasks: {
    study: "tasks",
    promise: "Open tasks: memory at the end beside memory at half time",
    atMost: 1.3,
  },
} as const satisfies Record<string, Bar>;

export type BarName = keyof typeof bars;
