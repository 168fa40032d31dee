import type { OperationFacts } from "../../../../../client/src/operation-facts.ts";
import { listIn, objectIn, resolve, type ContractOperation } from "../../../contract/contract-document.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { CommandFailed } from "../command.ts";

/** What a client must know of an operation to send it, as its contract says it. */
export function factsIn(document: JsonObject, operation: ContractOperation): OperationFacts {
  const { id, path, described } = operation;
  const method = operation.method.toUpperCase();
  if (method !== "GET" && method !== "POST") {
    throw new CommandFailed(`${id} is asked for by ${method}, which this program does not know how to send.`);
  }
  if (!path.startsWith("/")) throw new CommandFailed(`${id} has an address of another place.`);
  const parameters = parametersIn(document, operation);
  const names = (place: string): string[] =>
    parameters.filter((one) => one["in"] === place).map((one) => String(one["name"]));
  const inQuery = "requestBody" in described ? names("query") : "all";
  const streams = streamings.find((word) => word === described["x-streams"]);
  const startsTask = parameters.some(
    ({ in: place, name, required }) =>
      place === "header" && required === true && /^x-.+-async$/i.test(String(name)),
  );
  return {
    method,
    path,
    // Whatever is not said to be free may be paid for.
    billed: objectIn(described, "x-price")["kind"] !== "free",
    keyed: names("header").some((name) => name.toLowerCase() === "idempotency-key"),
    ...(method === "POST" && inQuery.length > 0 ? { inQuery } : {}),
    ...(streams === undefined ? {} : { streams }),
    ...(startsTask ? { startsTask } : {}),
  };
}

const streamings = ["flag", "always", "sometimes"] as const;

/** The word that the operator gave the headers about paying; undefined where nothing has such headers. */
export function providerIn(
  document: JsonObject,
  operations: readonly ContractOperation[],
): string | undefined {
  for (const operation of operations) {
    for (const { name } of parametersIn(document, operation)) {
      const word = /^X-([\w-]{1,100})-Max-Price-USD$/i.exec(String(name))?.[1];
      if (word !== undefined) return word;
    }
  }
  return undefined;
}

export const parametersIn = (document: JsonObject, { described }: ContractOperation): JsonObject[] =>
  listIn(described, "parameters").map((written) => resolve(document, written));
