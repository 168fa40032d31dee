import type { CliParts } from "../cli-parts.ts";
import { defineCommand, optional } from "../command.ts";
import { readFigure } from "../values.ts";

export const backup = defineCommand({
  words: ["backup"],
  operand: "FILE",
  summary: "writes one moment of all data to a new file, also while a server runs",
  flags: {
    keep: optional("N", "FILE is a folder: add a backup named by its moment, then keep the newest N"),
  },
  run: async ({ operand: file, flags }, parts) => {
    if (flags.keep !== undefined) {
      const made = await parts.backUpInto(file, readFigure("keep", flags.keep));
      return {
        lines: [
          ...backedUp(made.file, parts),
          ...made.deleted.map((one) => `${one} was older than those to keep, and is deleted.`),
        ],
        json: made,
        exitCode: 0,
      };
    }
    await parts.backUp(file);
    return { lines: backedUp(file, parts), json: { file }, exitCode: 0 };
  },
});

/** Whoever has kept the backup alone learns when the machine is gone that no key works any more, so it is said here. */
const backedUp = (file: string, { secretPlace }: CliParts): readonly string[] => [
  `The data is backed up in ${file}.`,
  `Without the secret in ${secretPlace()} no key of it would work: keep a copy of that, too.`,
];
