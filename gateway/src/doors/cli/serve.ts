import { defineCommand, toggle } from "./command.ts";

export const serve = defineCommand({
  words: ["serve"],
  summary: "starts the gateway",
  flags: { "allow-sandbox-public": toggle("let a public address serve sandbox answers") },
  run: async ({ flags }, parts) => {
    const exitCode = await parts.serve({ allowSandboxPublic: flags["allow-sandbox-public"] });
    return { lines: [], json: undefined, exitCode };
  },
});
