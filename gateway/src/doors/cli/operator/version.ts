import { defineCommand } from "../command.ts";

export const version = defineCommand({
  words: ["version"],
  summary: "says which version this is",
  flags: {},
  run: async (_given, parts) => {
    const number = parts.version();
    return { lines: [`tollgate ${number}`], json: { version: number }, exitCode: 0 };
  },
});
