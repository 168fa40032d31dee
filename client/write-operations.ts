// Writes client/src/operations.ts from the catalogue, so that the client knows exactly what is sold: npm run
// client:operations. A test fails when the two come apart.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { loadCatalogue } from "../gateway/src/operation/catalogue.ts";
import { costEstimate } from "../gateway/src/operation/cost-estimate.ts";
import { isSold, takesIdempotencyKey, type Operation } from "../gateway/src/operation/operation.ts";
import { streamsWhen } from "../gateway/src/operation/streams-when.ts";
import { joinInputs, printOperations, type PrintedOperation } from "./print-operations.ts";
import { convertSchema, type Schema } from "./print-types.ts";
import { usualNames, type OperationFacts } from "./src/operation-facts.ts";

const clientFolder = import.meta.dir;
export const operationsFile = join(clientFolder, "src/operations.ts");

type Convert = (schema: z.ZodType) => Schema;

/** The text of operations.ts as the catalogue is now. */
export async function renderOperations(): Promise<string> {
  const { operations } = await loadCatalogue([join(clientFolder, "../catalogue")]);
  const named: Record<string, Schema> = {};
  const convert: Convert = (schema) => {
    const converted = convertSchema(schema);
    Object.assign(named, converted.named);
    return converted.schema;
  };
  // No operation's own answer: in quote mode every billed one answers with it.
  convert(costEstimate);
  return printOperations({
    head: [
      "// Written from the catalogue by client/write-operations.ts; changes here are overwritten.",
      "",
      'import type { OperationFacts } from "./operation-facts.ts";',
    ],
    tableType: "Readonly<Record<OperationId, OperationFacts>>",
    operations: operations.map((operation) => printedOf(operation, convert)),
    named,
  });
}

function printedOf(operation: Operation, convert: Convert): PrintedOperation {
  const { id, summary, notes, response } = operation;
  return {
    id,
    about: [summary, notes].filter(Boolean).join(" "),
    facts: factsOf(operation, convert(operation.query)),
    input: inputOf(operation, convert),
    output: response && convert(response),
  };
}

function factsOf(operation: Operation, { properties = {} }: Schema): OperationFacts {
  const { method, path, price, body } = operation;
  const streams = streamsWhen(operation);
  const inQuery = body ? Object.keys(properties) : "all";
  return {
    method,
    path,
    billed: price.kind !== "free",
    keyed: takesIdempotencyKey(operation),
    ...(method === "POST" && inQuery.length > 0 ? { inQuery } : {}),
    ...(streams === undefined ? {} : { streams }),
    ...(isSold(operation) && operation.task ? { startsTask: true } : {}),
  };
}

function inputOf(operation: Operation, convert: Convert): Schema {
  const query = convert(operation.query);
  const body = operation.body ? convert(operation.body) : {};
  if (operation.body && body.type !== "object") throw new Error(`The body of ${operation.id} is no object.`);
  const further: Schema = takesMore(operation) ? { "x-loose": true } : {};
  const parts = [pathSchema(operation), query, body, further];
  const names = parts.flatMap(({ properties = {} }) => Object.keys(properties));
  // A name that stood for two things could not be told apart.
  if (new Set(names).size < names.length) throw new Error(`${operation.id} has one name for two things.`);
  return joinInputs(parts);
}

/** Parameters without a name here are forwarded. */
const takesMore = (operation: Operation): boolean =>
  isSold(operation) && Object.values(operation.servedBy).some(({ exchange }) => exchange === "forward_query");

function pathSchema({ path, params }: Operation): Schema {
  const names = [...path.matchAll(/\{(\w+)\}/g)]
    .map(([, name = ""]) => name)
    .filter((name) => !(name in usualNames));
  const properties = names.map((name): [string, Schema] => {
    const description = params?.[name];
    return [name, { type: "string", ...(description === undefined ? {} : { description }) }];
  });
  return { type: "object", properties: Object.fromEntries(properties), required: names };
}

if (import.meta.main) writeFileSync(operationsFile, await renderOperations());
