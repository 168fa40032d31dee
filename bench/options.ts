// What can be said after `npm run bench --`, and what is refused: a wrong word must not measure something else.

import { parseArgs } from "node:util";
import type { Contestant } from "./rig/contestant.ts";
import type { Settings, Study } from "./studies/study.ts";

export const usage = `npm run bench -- [words]

  --short                 what continuous integration runs, with limits of its own
  --only chat,latency     these studies
  --contestants "a,b"     these contestants
  --connections 1,64      how many callers chat is measured with
  --rounds 5              how often everybody has a turn
  --seconds 3             how long a turn is
  --warm-up 8,30          how long a warm-up is at the least and at the most
  --calls 100000,10000000 how many calls the two histories hold
  --soak 500000           how many calls the soak has
  --tasks 10000           how many tasks are open

Without words everything is measured, and kept in bench/results.`;

export interface Options {
  readonly help: boolean;
  /** Whether nothing was left out or changed: only that is a result to keep. */
  readonly isWhole: boolean;
  readonly studies: readonly Study[];
  readonly settings: Settings;
}

/** Throws for words that mean nothing here, with a sentence that says which. */
export function readOptions(
  words: readonly string[],
  there: { readonly studies: readonly Study[]; readonly contestants: readonly Contestant[] },
): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      help: { type: "boolean", default: false },
      short: { type: "boolean", default: false },
      only: { type: "string" },
      contestants: { type: "string" },
      connections: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      "warm-up": { type: "string" },
      calls: { type: "string" },
      soak: { type: "string" },
      tasks: { type: "string" },
    },
  });
  const { help, short } = values;
  const numbers = (option: keyof typeof values, usual: readonly number[]): readonly number[] =>
    typeof values[option] === "string" ? numbersIn(option, values[option]) : usual;
  const number = (option: keyof typeof values, usual: number): number => numbers(option, [usual])[0] ?? usual;
  const [few = 0, many = few] = numbers("calls", short ? [20_000, 200_000] : [100_000, 10_000_000]);
  const [secondsMin = 0, secondsMax = secondsMin] = numbers("warm-up", short ? [5] : [8, 30]);
  return {
    help,
    isWhole: words.length === 0,
    studies:
      values.only === undefined
        ? there.studies.filter(({ inShort }) => inShort !== undefined || !short)
        : named("only", values.only, there.studies),
    settings: {
      short,
      contestants:
        values.contestants === undefined
          ? there.contestants
          : named("contestants", values.contestants, there.contestants),
      rounds: number("rounds", short ? 3 : 5),
      roundSeconds: number("seconds", short ? 1 : 3),
      warmUp: { secondsMin, secondsMax },
      connections: numbers("connections", short ? [64] : [1, 16, 64, 256]),
      history: { few, many },
      soakCalls: number("soak", short ? 200_000 : 500_000),
      openTasks: number("tasks", 10_000),
      leaveOut: () => {},
    },
  };
}

function numbersIn(option: string, text: string): number[] {
  const wrong = text.split(",").find((part) => !/^[1-9]\d*$/.test(part));
  if (wrong === undefined) return text.split(",").map(Number);
  throw new Error(`--${option} takes whole numbers above zero, not "${wrong}".`);
}

function named<Named extends { readonly name: string }>(
  option: string,
  text: string,
  all: readonly Named[],
): Named[] {
  const names = text.split(",");
  const unknown = names.filter((wanted) => !all.some(({ name }) => name === wanted));
  if (unknown.length === 0) return all.filter(({ name }) => names.includes(name));
  const known = all.map(({ name }) => name).join(", ");
  throw new Error(`--${option}: nothing is called ${unknown.join(", ")}. There are ${known}.`);
}
