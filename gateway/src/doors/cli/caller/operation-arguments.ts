import type { Arguments } from "../../../../../client/src/operation-facts.ts";
import { CommandFailed, repeated, WrongUsage, type GivenFlags } from "../command.ts";

/** The arguments of an operation, on the command line. */
export const argumentFlags = {
  arg: repeated("NAME=TEXT", "an argument of the operation, as text"),
  "json-arg": repeated("NAME=JSON", "an argument that is a number, a list or an object"),
} as const;

/** What they mean is checked by the gateway, which says what is wrong with them. */
export function readArguments({ arg: texts, "json-arg": jsons }: ArgumentFlags): Arguments {
  const args: Record<string, unknown> = {};
  const add = (pair: string, flag: string, read: (written: string) => unknown): void => {
    const equals = pair.indexOf("=");
    if (equals < 1) throw new WrongUsage(`--${flag} takes NAME=VALUE.`);
    const name = pair.slice(0, equals);
    if (Object.hasOwn(args, name)) throw new WrongUsage(`The argument ${name} is given twice.`);
    args[name] = read(pair.slice(equals + 1));
  };
  for (const pair of texts) add(pair, "arg", (written) => written);
  for (const pair of jsons) {
    add(pair, "json-arg", (written) => {
      try {
        return JSON.parse(written) as unknown;
      } catch {
        throw new WrongUsage(`--json-arg ${pair.slice(0, pair.indexOf("="))} is not JSON.`);
      }
    });
  }
  return args;
}

/** What the gateway says is of another type than the argument was, which is decided here by the flag it came with. */
export function withTheOtherFlag(error: unknown, flags: ArgumentFlags): unknown {
  if (!(error instanceof CommandFailed)) return error;
  const [, name = "", wanted, given] = /^(\S+): expected (\w+), received (\w+)/.exec(error.message) ?? [];
  const isAmong = (pairs: readonly string[]): boolean => pairs.some((pair) => pair.startsWith(`${name}=`));
  const advice =
    given === "string" && isAmong(flags.arg)
      ? `--arg gives text: give ${name} by --json-arg.`
      : wanted === "string" && isAmong(flags["json-arg"])
        ? `--json-arg gives what is not text: give ${name} by --arg.`
        : undefined;
  return advice === undefined ? error : new CommandFailed(`${error.message} ${advice}`, error.details);
}

type ArgumentFlags = GivenFlags<typeof argumentFlags>;
