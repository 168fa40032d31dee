import { defineCommand, toggle } from "../command.ts";

export const serve = defineCommand({
  words: ["serve"],
  summary: "starts the gateway",
  flags: { "allow-sandbox-public": toggle("let a public address serve sandbox answers") },
  run: async ({ flags, asJson }, parts) => {
    const exitCode = await parts.serve(
      { allowSandboxPublic: flags["allow-sandbox-public"] },
      (words, facts) => parts.print(asJson ? JSON.stringify(facts) : words),
    );
    return { lines: [], json: undefined, exitCode };
  },
});
