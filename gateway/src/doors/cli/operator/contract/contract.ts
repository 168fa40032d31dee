import { writeFile } from "node:fs/promises";
import { TollgateError } from "../../../../../../client/src/errors.ts";
import { documentOf } from "../../../../contract/contract-document.ts";
import { createAccountContract, createContract } from "../../../../contract/create-contract.ts";
import { readContract } from "../../caller/read-contract.ts";
import type { CliParts } from "../../cli-parts.ts";
import { printClientTable } from "./client-table.ts";
import { CommandFailed, defineCommand, optional, toggle, WrongUsage } from "../../command.ts";

export const contract = defineCommand({
  words: ["contract"],
  summary: "writes what a server with this configuration offers, as OpenAPI or as types for the client",
  flags: {
    out: optional("FILE", "write it there instead of printing it"),
    account: toggle("only the account and usage part, as OpenAPI 3.0.3"),
    client: toggle("as a table of operations for tollgate-client, in TypeScript"),
    from: optional("ADDRESS", "what the gateway at this address offers, instead"),
  },
  run: async ({ flags }, parts) => {
    if (flags.account && (flags.client || flags.from !== undefined)) {
      throw new WrongUsage("--account goes with neither --client nor --from.");
    }
    const { bytes, ...json } =
      flags.from === undefined ? await contractHere(parts, flags.account) : await contractAt(flags.from);
    const written = flags.client
      ? printClientTable(documentOf({ bytes }), json.contentHash)
      : new TextDecoder().decode(bytes);
    if (flags.out === undefined) return { lines: [written.trimEnd()], json, exitCode: 0 };
    await writeFile(flags.out, written);
    const what = flags.client ? "The client's table" : "The contract";
    const lines = [
      `${what} is in ${flags.out}; ${flags.client ? "the contract's" : "its"} hash is ${json.contentHash}.`,
    ];
    return { lines, json: { file: flags.out, ...json }, exitCode: 0 };
  },
});

interface Found {
  readonly bytes: Uint8Array;
  readonly contentHash: string;
  readonly docsRevision: string;
}

async function contractHere(parts: CliParts, account: boolean): Promise<Found> {
  const { offer } = await parts.loadOffer();
  const create = account ? createAccountContract : createContract;
  return create({ offer, addresses: parts.addresses() });
}

async function contractAt(address: string): Promise<Found> {
  try {
    const { contentHash, docsRevision, whole } = await readContract(address);
    return { bytes: await whole(), contentHash, docsRevision };
  } catch (error) {
    if (!(error instanceof TollgateError)) throw error;
    throw new CommandFailed(`No contract could be read at ${address}: ${error.message}`);
  }
}
