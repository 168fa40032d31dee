import type { CliParts } from "../cli-parts.ts";
import { defineCommand, toggle } from "../command.ts";

export const restore = defineCommand({
  words: ["restore"],
  operand: "FILE",
  summary: "puts a backup in the place of the data, while no server runs",
  flags: {
    "over-moved-books": toggle(
      "also when the data was moved to Postgres, and nobody will sell from it there",
    ),
  },
  run: async ({ operand: file, flags }, parts) => {
    const kept = await parts.restore(file, { overMoved: flags["over-moved-books"] });
    const lacksSecret = await isWithoutItsSecret(parts);
    return {
      lines: [
        `The data is what ${file} holds.`,
        ...(kept === undefined
          ? []
          : [`What was there before is kept as ${kept}; delete it when nobody misses it.`]),
        ...(lacksSecret ? [secretIsLacking] : []),
      ],
      json: { file, kept: kept ?? null, lacks_secret: lacksSecret },
      exitCode: 0,
    };
  },
});

/** A backup made under another secret than ours was refused before. But there may be no secret here yet. */
async function isWithoutItsSecret({ findFingerprint, lookAtData }: CliParts): Promise<boolean> {
  if (findFingerprint() !== undefined) return false;
  return (await lookAtData())?.fingerprint !== undefined;
}

const secretIsLacking =
  "It belongs to a secret that is not here. Before anything else, copy the file data/secret of the installation that was " +
  "backed up into the data folder, or set TOLLGATE_SECRET to what it says: under a new one no key would be recognised.";
