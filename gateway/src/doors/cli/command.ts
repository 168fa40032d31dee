// What a command declares. Its help, its parsing and the types of what it is given follow from this.

import type { CliParts } from "./cli-parts.ts";

interface ValueFlag {
  readonly kind: "value";
  readonly placeholder: string;
  readonly required: boolean;
  readonly help: string;
}

/** A flag that may be given any number of times. */
interface RepeatedFlag {
  readonly kind: "repeated";
  readonly placeholder: string;
  readonly help: string;
}

interface Toggle {
  readonly kind: "toggle";
  readonly help: string;
}

export type Flags = Readonly<Record<string, ValueFlag | RepeatedFlag | Toggle>>;

/** Flags as a command reads them: a required one is always there, an optional one may be undefined. */
export type GivenFlags<Declared extends Flags> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Toggle
    ? boolean
    : Declared[Name] extends RepeatedFlag
      ? readonly string[]
      : Declared[Name] extends { readonly required: true }
        ? string
        : string | undefined;
};

export interface Given<Declared extends Flags> {
  /** The one word that is not a flag, where the command takes one and it was given; otherwise empty. */
  readonly operand: string;
  readonly flags: GivenFlags<Declared>;
  /** Whether a program reads the answer; only who says something before the end has to know. */
  readonly asJson: boolean;
}

export interface Command<Declared extends Flags = Flags> {
  readonly words: readonly string[];
  /** What the one word that is not a flag stands for; in brackets, as `[ID]`, where it may be absent. */
  readonly operand?: string;
  readonly summary: string;
  readonly flags: Declared;
  readonly run: (given: Given<Declared>, parts: CliParts) => Promise<Answer>;
}

/** The outcome of a command, once for people and once for programs. */
export interface Answer {
  readonly lines: readonly string[];
  /** Undefined when the command has already said everything itself. */
  readonly json: object | undefined;
  readonly exitCode: number;
}

export const required = (placeholder: string, help: string) =>
  ({ kind: "value", placeholder, required: true, help }) as const;

export const optional = (placeholder: string, help: string) =>
  ({ kind: "value", placeholder, required: false, help }) as const;

export const repeated = (placeholder: string, help: string) =>
  ({ kind: "repeated", placeholder, help }) as const;

export const toggle = (help: string) => ({ kind: "toggle", help }) as const;

export function defineCommand<const Declared extends Flags>(command: Command<Declared>): Command {
  // `parseArguments` builds what `run` receives from these very declarations, so nothing is lost by
  // forgetting them in the type.
  return Object.freeze(command) as unknown as Command;
}

/** The command was called wrongly: exit code 2. */
export class WrongUsage extends Error {}

/** The command was understood and cannot be done: exit code 1. */
export class CommandFailed extends Error {
  /** What a program that reads `--json` learns beside the sentence. */
  readonly details: object;

  constructor(sentence: string, details: object = {}) {
    super(sentence);
    this.details = details;
  }
}
