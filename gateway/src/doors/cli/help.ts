import type { Answer, Command, Flags } from "./command.ts";
import { fieldLines } from "./output.ts";

/** What `--help` answers: one command in full, or the list of those whose names begin with the words given. */
export function helpFor(matching: readonly Command[]): Answer {
  const [only] = matching;
  const lines = only !== undefined && matching.length === 1 ? commandHelp(only) : listHelp(matching);
  return {
    lines,
    json: { commands: matching.map((command) => ({ usage: usageOf(command), summary: command.summary })) },
    exitCode: 0,
  };
}

function usageOf(command: Command): string {
  const flags = Object.entries(command.flags).map(([name, flag]) => {
    if (flag.kind === "toggle") return `[--${name}]`;
    if (flag.kind === "repeated") return `[--${name} ${flag.placeholder} …]`;
    return flag.required ? `--${name} ${flag.placeholder}` : `[--${name} ${flag.placeholder}]`;
  });
  return [
    "tollgate",
    ...command.words,
    ...(command.operand === undefined ? [] : [command.operand]),
    ...flags,
  ].join(" ");
}

const listHelp = (commands: readonly Command[]): string[] => [
  "Tollgate, a metered API gateway. Every command takes --json and --help.",
  ...commands.flatMap((command) => ["", `  ${usageOf(command)}`, `      ${command.summary}`]),
];

const commandHelp = (command: Command): string[] => [
  usageOf(command),
  "",
  `${command.words.join(" ")} ${command.summary}.`,
  "",
  ...fieldLines({ ...flagHelp(command.flags), "--json": "answer in JSON" }).map((line) => `  ${line}`),
];

const flagHelp = (flags: Flags): Record<string, string> =>
  Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      flag.kind === "toggle" ? `--${name}` : `--${name} ${flag.placeholder}`,
      flag.help,
    ]),
  );
