import { writeFile } from "node:fs/promises";
import { createAccountContract, createContract } from "../../contract/create-contract.ts";
import { defineCommand, optional, toggle } from "./command.ts";

export const contract = defineCommand({
  words: ["contract"],
  summary: "writes what a server with this configuration offers, as OpenAPI",
  flags: {
    out: optional("FILE", "write it there instead of printing it"),
    account: toggle("only the account and usage part, as OpenAPI 3.0.3"),
  },
  run: async ({ flags }, parts) => {
    const { offer } = await parts.loadOffer();
    const create = flags.account ? createAccountContract : createContract;
    const { bytes, contentHash, docsRevision } = create({ offer, addresses: parts.addresses() });
    const json = { contentHash, docsRevision };
    if (flags.out === undefined) {
      return { lines: [new TextDecoder().decode(bytes).trimEnd()], json, exitCode: 0 };
    }
    await writeFile(flags.out, bytes);
    const lines = [`The contract is in ${flags.out}; its hash is ${contentHash}.`];
    return { lines, json: { file: flags.out, ...json }, exitCode: 0 };
  },
});
