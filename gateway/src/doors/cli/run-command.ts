// The command line as a door: words in, an exit code out. 0 is done, 1 is could not, 2 is called wrongly.

import { InDoubt, NotWritten } from "../../ledger/store-errors.ts";
import { messageOf } from "../../platform/error-message.ts";
import { withoutOurSecrets } from "../../platform/our-secrets.ts";
import { parseArguments } from "./arguments.ts";
import { call } from "./caller/call.ts";
import { quote } from "./caller/quote.ts";
import { usage } from "./caller/usage.ts";
import { watch } from "./caller/watch.ts";
import type { CliParts } from "./cli-parts.ts";
import { CommandFailed, WrongUsage, type Answer } from "./command.ts";
import { helpFor, overview, type Family } from "./help.ts";
import { accountLedger } from "./operator/account/account-ledger.ts";
import { accountUsage } from "./operator/account/account-usage.ts";
import { accountCreate, accountList, accountShow, accountUpdate } from "./operator/account/account.ts";
import { adjust } from "./operator/adjust.ts";
import { audit } from "./operator/audit.ts";
import { backup } from "./operator/backup.ts";
import { contract } from "./operator/contract/contract.ts";
import { doctor } from "./operator/doctor/doctor.ts";
import { grantList, grantRevoke } from "./operator/grant.ts";
import { keyIssue, keyList, keyRevoke, keyRotate, keyUpdate } from "./operator/key/key.ts";
import { linkList, linkRevoke } from "./operator/link.ts";
import { move } from "./operator/move.ts";
import { quotaApprove, quotaDeny, quotaList } from "./operator/quota.ts";
import { receipt } from "./operator/receipt.ts";
import { restore } from "./operator/restore.ts";
import { serve } from "./operator/serve.ts";
import { topUp } from "./operator/topup.ts";
import { version } from "./operator/version.ts";

const families: readonly Family[] = [
  { title: "The gateway and its configuration", commands: [serve, doctor, contract, version] },
  { title: "Calls, with the key in TOLLGATE_KEY", commands: [call, quote, usage, receipt, watch] },
  {
    title: "Accounts and money",
    commands: [
      accountCreate,
      accountList,
      accountShow,
      accountUpdate,
      accountLedger,
      accountUsage,
      topUp,
      adjust,
    ],
  },
  { title: "Keys", commands: [keyIssue, keyList, keyUpdate, keyRotate, keyRevoke] },
  {
    title: "What people applied for, linked and let in",
    commands: [quotaList, quotaApprove, quotaDeny, linkList, linkRevoke, grantList, grantRevoke],
  },
  { title: "The data", commands: [audit, backup, restore, move] },
];

const commands = families.flatMap((family) => family.commands);

/** What people type everywhere else, in our words. */
const habits: ReadonlyMap<string, string> = new Map([
  ["-h", "--help"],
  ["--version", "version"],
]);

/** The part of a command's world that exists even when the rest cannot be prepared. */
type Speech = Pick<CliParts, "print" | "printError">;

/** `prepare` fails in a wrong environment, so it is not called for help, nor for a command that is called wrongly. */
export async function runCommand(
  words: readonly string[],
  speech: Speech,
  prepare: () => Promise<CliParts>,
): Promise<number> {
  const asJson = isForProgram(words);
  try {
    const answer = await answerTo(words, async () => {
      const parts = await prepare();
      // A program reads one object; what people see meanwhile would stand before it.
      return asJson ? { ...parts, write: () => true, showProgress: () => {} } : parts;
    });
    const json = answer.json === undefined ? [] : [JSON.stringify(answer.json)];
    for (const line of asJson ? json : answer.lines) speech.print(line);
    return answer.exitCode;
  } catch (error) {
    tellFailure(error, words, speech);
    return error instanceof WrongUsage ? 2 : 1;
  }
}

/** One sentence for people, one object for programs. */
export function tellFailure(
  error: unknown,
  words: readonly string[],
  { printError }: Pick<Speech, "printError">,
): void {
  const sentence = withoutOurSecrets(whyFailed(error));
  const details = error instanceof CommandFailed ? error.details : {};
  printError(isForProgram(words) ? JSON.stringify({ error: sentence, ...details }) : sentence);
}

/** Callers are not told why a store failed. The operator is, because they can mend it. */
function whyFailed(error: unknown): string {
  const { cause } = error instanceof NotWritten || error instanceof InDoubt ? error : {};
  return cause === undefined ? messageOf(error) : `${messageOf(error)} The reason: ${messageOf(cause)}`;
}

const isForProgram = (words: readonly string[]): boolean => words.includes("--json");

async function answerTo(typed: readonly string[], prepare: () => Promise<CliParts>): Promise<Answer> {
  const words = typed.map((word, at) => (at === 0 || word === "-h" ? (habits.get(word) ?? word) : word));
  if (words[0] === "help" || words.includes("--help")) return helpAbout(words);
  const command = commands.find((one) => one.words.every((word, at) => words[at] === word));
  if (!command) throw unknownCommand(words);
  const given = parseArguments(command, words.slice(command.words.length));
  const parts = await prepare();
  try {
    return await command.run(given, parts);
  } catch (error) {
    throw parts.explain(error);
  }
}

/** `help`, `help key`, `key --help`, `key issue --help`: the words before any flag say what about. */
function helpAbout(words: readonly string[]): Answer {
  const asked = namesOf(words[0] === "help" ? words.slice(1) : words);
  if (asked.length === 0) return overview(families);
  const exact = commands.filter((one) => one.words.every((word, at) => asked[at] === word));
  if (exact.length > 0) return helpFor(exact);
  const family = commands.filter((one) => asked.every((word, at) => one.words[at] === word));
  if (family.length === 0) throw unknownCommand(asked);
  return helpFor(family);
}

function unknownCommand(words: readonly string[]): WrongUsage {
  const names = namesOf(words);
  if (names.length === 0) return new WrongUsage('No command is given; "tollgate help" lists them.');
  const family = commands.filter((one) => one.words.length > 1 && one.words[0] === names[0]);
  if (family.length > 0) {
    const endings = family.map((one) => one.words[1]).join(", ");
    return new WrongUsage(`"tollgate ${names[0]}" is followed by one of: ${endings}.`);
  }
  return new WrongUsage(`There is no command "${names.slice(0, 2).join(" ")}"; "tollgate help" lists them.`);
}

function namesOf(words: readonly string[]): readonly string[] {
  const firstFlag = words.findIndex((word) => word.startsWith("--"));
  return firstFlag === -1 ? words : words.slice(0, firstFlag);
}
