import { createClient, type Client } from "../../../../../client/src/client.ts";
import { TollgateError } from "../../../../../client/src/errors.ts";
import type { OperationFacts } from "../../../../../client/src/operation-facts.ts";
import { operationsOf } from "../../../contract/contract-document.ts";
import type { CliParts } from "../cli-parts.ts";
import { CommandFailed, WrongUsage } from "../command.ts";
import { factsIn, providerIn } from "./contract-facts.ts";
import { microsAsUsd } from "./micros.ts";
import { readContract, type PublicContract } from "./read-contract.ts";

/** The caller's commands see the gateway as any other program does: over HTTP, with a key. No store is opened. */
export const withClient = <Value>(parts: CliParts, use: (client: Client) => Promise<Value>): Promise<Value> =>
  asCaller(parts, (settings) => use(createClient(settings)));

/** A client for operations that only the gateway knows. */
export type LearnedClient = Client<Readonly<Record<string, OperationFacts>>>;

/**
 * A client that learned this operation from the gateway's own contract: where it is found, where its arguments go and
 * what the headers about it are called.
 */
export const withOperation = <Value>(
  parts: CliParts,
  id: string,
  use: (client: LearnedClient) => Promise<Value>,
): Promise<Value> =>
  asCaller(parts, async (settings) => {
    const contract = await readContract(settings.baseUrl);
    const document = await contract.pick(id);
    const operation = document && operationsOf(document).find((one) => one.id === id);
    if (!operation) throw await noSuchOperation(id, contract);
    const provider = providerIn(document, [operation]);
    return use(
      createClient({
        ...settings,
        operations: { [id]: factsIn(document, operation) },
        ...(provider === undefined ? {} : { names: { provider } }),
      }),
    );
  });

interface Settings {
  readonly apiKey: string;
  readonly baseUrl: string;
}

async function asCaller<Value>(parts: CliParts, use: (settings: Settings) => Promise<Value>): Promise<Value> {
  const { apiKey, baseUrl } = parts.caller();
  if (apiKey === undefined || apiKey === "") {
    throw new CommandFailed(
      "Put your key into the environment as TOLLGATE_KEY; it is not taken from arguments.",
    );
  }
  try {
    return await use({ apiKey, baseUrl });
  } catch (error) {
    if (error instanceof TollgateError) throw failureOf(error, baseUrl);
    throw error;
  }
}

async function noSuchOperation(word: string, contract: PublicContract): Promise<WrongUsage> {
  // A name is shown as it is, so it must not be able to write to the terminal.
  const ids = (await contract.ids()).filter((id) => /^[\w.-]+$/.test(id));
  const alike = ids.filter((id) => id.includes(word) || word.includes(id.split(".")[0] ?? id));
  const some = alike.length > 0 ? alike : ids;
  return new WrongUsage(`There is no operation "${word}". There are: ${some.toSorted().join(", ")}.`);
}

function failureOf(error: TollgateError, baseUrl: string): CommandFailed {
  const { status, code, kind, requestId, idempotencyKey, moneyMoved, chargedMicrosUsd } = error;
  const about = [
    `${code}${status === undefined ? "" : `, ${status}`}`,
    ...(requestId === undefined ? [] : [`request ${requestId}`]),
    ...(idempotencyKey === undefined ? [] : [`idempotency key ${idempotencyKey}`]),
  ];
  const where = kind === "connection" ? ` It was asked at ${baseUrl} (TOLLGATE_BASE_URL).` : "";
  const sentences = `${closed(error.message)}${where} ${moneySentence(error)}`;
  return new CommandFailed(`${sentences} (${about.join("; ")})`, {
    kind,
    code,
    status: status ?? null,
    request_id: requestId ?? null,
    idempotency_key: idempotencyKey ?? null,
    money_moved: moneyMoved,
    charged_micros_usd: chargedMicrosUsd ?? null,
    attempts: error.attempts,
    body: error.body ?? null,
  });
}

/** What is refused may end without a full stop. It begins as it is: often with the very name of an argument. */
const closed = (message: string): string => message + (/[.!?…]$/.test(message) ? "" : ".");

function moneySentence({ moneyMoved, chargedMicrosUsd }: TollgateError): string {
  if (moneyMoved === "no") return "No money moved.";
  if (moneyMoved === "unknown") return "Whether money moved is not known; the receipt will tell.";
  return `Money moved: ${microsAsUsd(chargedMicrosUsd ?? 0)}.`;
}
