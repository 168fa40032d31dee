import { createClient, type Client } from "../../../../../client/src/client.ts";
import { TollgateError } from "../../../../../client/src/errors.ts";
import { usualNames, type Names } from "../../../../../client/src/operation-facts.ts";
import type { CliParts } from "../cli-parts.ts";
import { CommandFailed } from "../command.ts";
import { microsAsUsd } from "./micros.ts";

/** The caller's commands see the gateway as any other program does: over HTTP, with a key. No store is opened. */
export async function withClient<Value>(
  parts: CliParts,
  use: (client: Client) => Promise<Value>,
): Promise<Value> {
  const { apiKey, baseUrl, names } = parts.caller();
  if (apiKey === undefined || apiKey === "") {
    throw new CommandFailed(
      "Put your key into the environment as TOLLGATE_KEY; it is not taken from arguments.",
    );
  }
  const options = { apiKey, baseUrl, ...(names === undefined ? {} : { names: readNames(names) }) };
  try {
    return await use(createClient(options));
  } catch (error) {
    if (error instanceof TollgateError) throw failureOf(error, baseUrl);
    throw error;
  }
}

function readNames(written: string): Partial<Names> {
  const pairs = written.split(",").map((pair) => pair.trim().split("="));
  const wrong = pairs.find(
    ([name = "", word]) => !(name in usualNames) || !/^[\w-]{1,100}$/.test(word ?? ""),
  );
  if (wrong) throw new CommandFailed(`TOLLGATE_NAMES has no such pair: ${wrong.join("=")}.`);
  return Object.fromEntries(pairs) as Partial<Names>;
}

function failureOf(error: TollgateError, baseUrl: string): CommandFailed {
  const { status, code, kind, requestId, idempotencyKey, moneyMoved, chargedMicrosUsd } = error;
  const about = [
    `${code}${status === undefined ? "" : `, ${status}`}`,
    ...(requestId === undefined ? [] : [`request ${requestId}`]),
    ...(idempotencyKey === undefined ? [] : [`idempotency key ${idempotencyKey}`]),
  ];
  const where = kind === "connection" ? ` It was asked at ${baseUrl} (TOLLGATE_BASE_URL).` : "";
  const sentences = `${sentenceOf(error.message)}${where} ${moneySentence(error)}`;
  return new CommandFailed(`${sentences} (${about.join("; ")})`, {
    kind,
    code,
    status: status ?? null,
    request_id: requestId ?? null,
    idempotency_key: idempotencyKey ?? null,
    money_moved: moneyMoved,
    charged_micros_usd: chargedMicrosUsd ?? null,
    attempts: error.attempts,
  });
}

/** Some of what is refused is said without a capital and a full stop. */
const sentenceOf = (message: string): string =>
  message.slice(0, 1).toUpperCase() + message.slice(1) + (/[.!?]$/.test(message) ? "" : ".");

function moneySentence({ moneyMoved, chargedMicrosUsd }: TollgateError): string {
  if (moneyMoved === "no") return "No money moved.";
  if (moneyMoved === "unknown") return "Whether money moved is not known; the receipt will tell.";
  return `Money moved: ${microsAsUsd(chargedMicrosUsd ?? 0)}.`;
}
