// Writes client/src/operations.ts from the catalogue, so that the client knows exactly what is sold: npm run
// client:operations. A test fails when the two come apart.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadCatalogue } from "../gateway/src/operation/catalogue.ts";
import { isSold, type Operation } from "../gateway/src/operation/operation.ts";
import { convertSchema, indent, printDoc, printObject, printType, type Schema } from "./print-types.ts";
import type { OperationFacts } from "./src/operation-facts.ts";
import { usualNames } from "./src/operation-facts.ts";

const clientFolder = import.meta.dir;
export const operationsFile = join(clientFolder, "src/operations.ts");

/** What of an operation reaches the client. */
interface Offered extends Pick<
  Operation,
  "id" | "summary" | "notes" | "params" | "query" | "body" | "response"
> {
  readonly facts: OperationFacts;
  /** Parameters without a name here are forwarded. */
  readonly takesMore: boolean;
}

/** The text of operations.ts as the catalogue is now. */
export async function renderOperations(): Promise<string> {
  const { operations } = await loadCatalogue([join(clientFolder, "../catalogue")]);
  const offered = operations.map(offeredOf);
  return render(offered.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
}

function offeredOf(operation: Operation): Offered {
  const { id, summary, notes, params, query, body, response, method, path, price } = operation;
  const streams = streamsOf(operation);
  return {
    id,
    summary,
    query,
    ...(notes === undefined ? {} : { notes }),
    ...(params ? { params } : {}),
    ...(body ? { body } : {}),
    ...(response ? { response } : {}),
    facts: {
      method,
      path,
      billed: price.kind !== "free",
      keyed: method === "POST" || operation.idempotency !== undefined,
      ...(streams === undefined ? {} : { streams }),
      ...(isSold(operation) && operation.task ? { startsTask: true } : {}),
    },
    takesMore:
      isSold(operation) &&
      Object.values(operation.servedBy).some(({ exchange }) => exchange === "forward_query"),
  };
}

/** An operation that streams without being asked to has no other way to answer. */
function streamsOf(operation: Operation): OperationFacts["streams"] | undefined {
  if (!isSold(operation) || !operation.streams) return undefined;
  const input = { query: {}, params: {}, rawQuery: "", rawBody: new Uint8Array() };
  if (operation.streams({ ...input, body: {} })) return "always";
  return operation.streams({ ...input, body: { stream: true } }) ? "flag" : undefined;
}

function render(operations: readonly Offered[]): string {
  const named: Record<string, Schema> = {};
  const convert = (schema: Parameters<typeof convertSchema>[0]): Schema => {
    const converted = convertSchema(schema);
    Object.assign(named, converted.named);
    return converted.schema;
  };
  const inputs = operations.flatMap((operation) => [
    ...printDoc([operation.summary, operation.notes].filter(Boolean).join(" "), 1),
    `  readonly "${operation.id}": ${printObject(inputOf(operation, convert), 1)};`,
  ]);
  const outputs = operations.map(
    ({ id, response }) => `  readonly "${id}": ${response ? printType(convert(response), 1) : "unknown"};`,
  );
  const shared = Object.entries(named)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, schema]) => ["", ...printDoc(schema.description, 0), ...declare(name, schema)]);
  return [
    "// Written from the catalogue by client/write-operations.ts; changes here are overwritten.",
    "",
    'import type { OperationFacts } from "./operation-facts.ts";',
    "",
    "export type OperationId = keyof Inputs;",
    "",
    "/** Everything that can be called, and what must be known to call it. */",
    "export const operations: Readonly<Record<OperationId, OperationFacts>> = {",
    ...operations.map(({ id, facts }) => `${indent(1)}"${id}": ${printFacts(facts)},`),
    "};",
    "",
    "/** What each operation takes: the parameters of its path, its query and its body, in one object. */",
    "export interface Inputs {",
    ...inputs,
    "}",
    "",
    "/** What each operation answers. */",
    "export interface Outputs {",
    ...outputs,
    "}",
    ...shared,
    "",
  ].join("\n");
}

const declare = (name: string, schema: Schema): string[] =>
  schema.type === "object" && schema.properties
    ? [`export interface ${name} ${printObject(schema, 0)}`]
    : [`export type ${name} = ${printType(schema)};`];

const printFacts = (facts: OperationFacts): string =>
  `{ ${Object.entries(facts)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(", ")} }`;

/** Path, query and body in one object; a name that stood for two things could not be told apart. */
function inputOf(operation: Offered, convert: (schema: NonNullable<Offered["body"]>) => Schema): Schema {
  const query = convert(operation.query);
  const body = operation.body ? convert(operation.body) : {};
  if (operation.body && body.type !== "object") throw new Error(`The body of ${operation.id} is no object.`);
  const parts = [pathSchema(operation), query, body];
  const names = parts.flatMap(({ properties = {} }) => Object.keys(properties));
  if (new Set(names).size < names.length) throw new Error(`${operation.id} has one name for two things.`);
  return {
    type: "object",
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Record<string, Schema>,
    required: parts.flatMap(({ required = [] }) => required),
    ...(operation.takesMore || parts.some((part) => part["x-loose"] === true) ? { "x-loose": true } : {}),
  };
}

function pathSchema({ facts, params }: Offered): Schema {
  const names = [...facts.path.matchAll(/\{(\w+)\}/g)]
    .map(([, name = ""]) => name)
    .filter((name) => !(name in usualNames));
  const properties = names.map((name): [string, Schema] => {
    const description = params?.[name];
    return [name, { type: "string", ...(description === undefined ? {} : { description }) }];
  });
  return { type: "object", properties: Object.fromEntries(properties), required: names };
}

if (import.meta.main) writeFileSync(operationsFile, await renderOperations());
