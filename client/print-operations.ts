// The table of what can be called, as TypeScript: the facts that the client needs, and the types of what each operation
// takes and answers.

import { indent, printDoc, printObject, printType, type Schema } from "./print-types.ts";
import type { OperationFacts } from "./src/operation-facts.ts";

/** An operation as its table tells of it. */
export interface PrintedOperation {
  readonly id: string;
  readonly about: string;
  readonly facts: OperationFacts;
  /** Parameters of path, query and body, in one object. */
  readonly input: Schema;
  /** Undefined where nobody says what it answers. */
  readonly output: Schema | undefined;
}

interface Table {
  /** What stands above the table: where it comes from, and what it imports. */
  readonly head: readonly string[];
  readonly operations: readonly PrintedOperation[];
  /** The schemas that those of the operations refer to. */
  readonly named: Readonly<Record<string, Schema>>;
  readonly tableType: string;
}

export function printOperations({ head, operations, named, tableType }: Table): string {
  const sorted = operations.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const shared = Object.entries(named)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, schema]) => ["", ...printDoc(schema.description, 0), ...declare(name, schema)]);
  return [
    ...head,
    "",
    "/* eslint-disable @typescript-eslint/no-explicit-any -- in what is handed in no other word lets an interface through */",
    "",
    "export type OperationId = keyof Inputs;",
    "",
    "/** Everything that can be called, and what must be known to call it. */",
    `export const operations: ${tableType} = {`,
    ...sorted.map(({ id, facts }) => `${indent(1)}${JSON.stringify(id)}: ${printFacts(facts)},`),
    "};",
    "",
    "/** What each operation takes: the parameters of its path, its query and its body, in one object. */",
    "export interface Inputs {",
    ...sorted.flatMap(({ id, about, input }) => [
      ...printDoc(about, 1),
      `  readonly ${JSON.stringify(id)}: ${printObject(input, 1, "any")};`,
    ]),
    "}",
    "",
    "/** What each operation answers. */",
    "export interface Outputs {",
    ...sorted.map(
      ({ id, output }) => `  readonly ${JSON.stringify(id)}: ${output ? printType(output, 1) : "unknown"};`,
    ),
    "}",
    ...shared,
    "",
  ].join("\n");
}

/** Path, query and body in one object. */
export const joinInputs = (parts: readonly Schema[]): Schema => ({
  type: "object",
  properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Record<string, Schema>,
  required: parts.flatMap(({ required = [] }) => required),
  ...(parts.some((part) => part["x-loose"] === true) ? { "x-loose": true } : {}),
});

const declare = (name: string, schema: Schema): string[] =>
  schema.type === "object" && schema.properties
    ? [`export interface ${name} ${printObject(schema, 0)}`]
    : [`export type ${name} = ${printType(schema)};`];

const printFacts = (facts: OperationFacts): string =>
  `{ ${Object.entries(facts)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(", ")} }`;
