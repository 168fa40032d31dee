import type { Answer, Command, Flags } from "./command.ts";
import { fieldLines } from "./output.ts";

/** Commands that are looked for in one place. */
export interface Family {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** What `help` alone answers: every command in a line, short enough to find the one that is meant. */
export function overview(families: readonly Family[]): Answer {
  const commands = families.flatMap((family) => family.commands);
  const width = Math.max(...commands.map((command) => namedOf(command).length));
  return {
    lines: [
      "Tollgate, a metered API gateway.",
      ...families.flatMap((family) => [
        "",
        family.title,
        ...family.commands.map((command) => `  ${namedOf(command).padEnd(width)}  ${command.summary}`),
      ]),
      "",
      'Every command takes --json and --help: "tollgate key issue --help" shows what it takes besides.',
    ],
    json: describe(commands),
    exitCode: 0,
  };
}

const namedOf = ({ words, operand }: Command): string =>
  [...words, ...(operand === undefined ? [] : [operand])].join(" ");

/** What `--help` answers: one command in full, or the list of those whose names begin with the words given. */
export function helpFor(matching: readonly Command[]): Answer {
  const [only] = matching;
  const lines = only !== undefined && matching.length === 1 ? commandHelp(only) : listHelp(matching);
  return { lines, json: describe(matching), exitCode: 0 };
}

const describe = (commands: readonly Command[]): object => ({
  commands: commands.map((command) => ({ usage: usageOf(command), summary: command.summary })),
});

function usageOf(command: Command): string {
  const flags = Object.entries(command.flags).map(([name, flag]) => {
    if (flag.kind === "toggle") return `[--${name}]`;
    if (flag.kind === "repeated") return `[--${name} ${flag.placeholder} …]`;
    return flag.required ? `--${name} ${flag.placeholder}` : `[--${name} ${flag.placeholder}]`;
  });
  return ["tollgate", namedOf(command), ...flags].join(" ");
}

const listHelp = (commands: readonly Command[]): string[] => [
  "Every command takes --json and --help.",
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
