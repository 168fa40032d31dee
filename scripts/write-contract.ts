// npm run contract: writes contract/openapi.json, the contract of the catalogue as it ships, and proposes a line about
// what changed for contract/CHANGELOG.md. With --check it writes nothing and fails when either is out of date.

import { readFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { completeAddresses } from "../gateway/src/config/addresses.ts";
import { parseConfig } from "../gateway/src/config/load-config.ts";
import { compareContracts } from "../gateway/src/contract/compare-contracts.ts";
import { createContract } from "../gateway/src/contract/create-contract.ts";
import { createOffer } from "../gateway/src/offer/create-offer.ts";
import { loadCatalogue } from "../gateway/src/operation/catalogue.ts";
import { isJsonObject, type JsonObject } from "../gateway/src/platform/json.ts";

const root = join(import.meta.dir, "..");
const [folder = join(root, "contract")] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const contractFile = join(folder, "openapi.json");
const changelogFile = join(folder, "CHANGELOG.md");

const head = `# Changes of the contract

One line for each contract of the shipped catalogue, newest first: the SHA-256 of \`openapi.json\`, and what is other
than before. \`npm run contract\` proposes the line; say it better where you can.
`;

const { bytes, contentHash } = createContract({
  offer: createOffer(
    await loadCatalogue([join(root, "catalogue")]),
    parseConfig("", "the default configuration", {}),
    "http://sandbox.invalid",
  ),
  addresses: completeAddresses("http://127.0.0.1:8787"),
});

process.exit(process.argv.includes("--check") ? check() : write());

function check(): number {
  const written = textOf(contractFile);
  const missing = [
    ...(written === new TextDecoder().decode(bytes)
      ? []
      : ["contract/openapi.json is not what the catalogue says."]),
    ...(linesIn(textOf(changelogFile)).some((line) => line.includes(contentHash))
      ? []
      : ["contract/CHANGELOG.md has no line for this contract."]),
  ];
  for (const sentence of missing) console.error(sentence);
  if (missing.length > 0)
    console.error("Run npm run contract, look at the line it writes, and commit both files.");
  else console.log(`The contract ${contentHash} is written down.`);
  return missing.length > 0 ? 1 : 0;
}

function write(): number {
  // What was never committed was nobody's contract, so its lines go. After a merge this describes what the branch adds.
  const committed = committedText("CHANGELOG.md");
  const lines = linesIn(committed ?? textOf(changelogFile));
  const own = linesIn(textOf(changelogFile)).find((line) => line.includes(contentHash));
  const known = lines.some((line) => line.includes(contentHash));
  const line =
    own ?? `- \`${contentHash}\` ${whatChanged(committedText("openapi.json") ?? textOf(contractFile))}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(contractFile, bytes);
  writeFileSync(changelogFile, `${head}\n${[...(known ? [] : [line]), ...lines].join("\n")}\n`);
  console.log(known ? `The contract ${contentHash} was written down before.` : line);
  return 0;
}

function whatChanged(before: string): string {
  const was = documentIn(before);
  // These are our own bytes, made a moment ago.
  const is = JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;
  if (!was) return `The first contract: ${compareContracts({}, is).added.length} operations.`;
  const { added, removed, changed } = compareContracts(was, is);
  const sentences = [
    ...(added.length > 0 ? [`Adds ${added.join(", ")}.`] : []),
    ...(removed.length > 0 ? [`Breaking: removes ${removed.join(", ")}.`] : []),
    ...changed.map(({ operation_id, breaking, changes }) => {
      const kinds = [...new Set(changes.map(({ kind }) => kind.replaceAll("_", " ")))];
      return `${breaking ? "Breaking: changes" : "Changes"} ${operation_id} (${kinds.join(", ")}).`;
    }),
  ];
  return sentences.length > 0 ? sentences.join(" ") : "Says the same in another form.";
}

function documentIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function linesIn(text: string): string[] {
  return text.split("\n").filter((line) => /^- `[0-9a-f]{64}` /.test(line));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Undefined where there is no version control, or it has no such file. */
function committedText(name: string): string | undefined {
  const git = Bun.spawnSync(["git", "-C", folder, "show", `HEAD:./${name}`], { stderr: "ignore" });
  return git.success ? git.stdout.toString() : undefined;
}
