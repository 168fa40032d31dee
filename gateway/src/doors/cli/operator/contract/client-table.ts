import {
  joinInputs,
  printOperations,
  type PrintedOperation,
} from "../../../../../../client/print-operations.ts";
import type { Schema } from "../../../../../../client/print-types.ts";
import {
  objectIn,
  operationsOf,
  resolve,
  type ContractOperation,
} from "../../../../contract/contract-document.ts";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../../platform/json.ts";
import { factsIn, parametersIn, providerIn } from "../../caller/contract-facts.ts";

/** The operations of a contract as a file of TypeScript, for `createClient({ operations, names })`. */
export function printClientTable(document: JsonObject, contentHash: string): string {
  const operations = operationsOf(document);
  const schemas = objectIn(objectIn(document, "components"), "schemas");
  const named = Object.entries(schemas).map(([id, schema]): [string, Schema] => [typeName(id), open(schema)]);
  return printOperations({
    head: [
      "// Written by tollgate contract --client; changes here are overwritten.",
      `// The contract is ${contentHash}.`,
      "",
      'import type { OperationFacts } from "tollgate-client";',
      "",
      "/** The word in this gateway's headers. */",
      `export const names = { provider: ${JSON.stringify(providerIn(document, operations) ?? "Tollgate")} };`,
    ],
    tableType: "{ readonly [Id in OperationId]: OperationFacts<Inputs[Id], Outputs[Id]> }",
    operations: operations.map((operation) => printedOf(document, operation)),
    named: Object.fromEntries(named.filter(([name]) => name !== costEstimate)),
  });
}

/** What a quote answers; the client's own type says it. */
const costEstimate = "CostEstimate";

function printedOf(document: JsonObject, operation: ContractOperation): PrintedOperation {
  const { id, described } = operation;
  return {
    id,
    about: typeof described["description"] === "string" ? described["description"] : "",
    facts: factsIn(document, operation),
    input: inputOf(document, operation),
    output: outputOf(document, described),
  };
}

function inputOf(document: JsonObject, operation: ContractOperation): Schema {
  const { described } = operation;
  const parameters = parametersIn(document, operation).filter(({ in: place }) => place !== "header");
  const forwards = typeof described["x-further-query-parameters"] === "string";
  const body = schemaIn(described["requestBody"]);
  return joinInputs([
    {
      properties: Object.fromEntries(parameters.map((one) => [String(one["name"]), parameterSchema(one)])),
      required: parameters.filter((one) => one["required"] === true).map((one) => String(one["name"])),
      ...(forwards ? { "x-loose": true } : {}),
    },
    body === undefined ? {} : open(resolve(document, body)),
  ]);
}

const parameterSchema = ({ schema, description }: JsonObject): Schema => ({
  ...open(schema),
  ...(typeof description === "string" ? { description } : {}),
});

/** A billed operation answers with its price in quote mode, which `quote()` asks for. */
function outputOf(document: JsonObject, described: JsonObject): Schema | undefined {
  const schema = schemaIn(resolve(document, objectIn(described, "responses")["200"]));
  if (schema === undefined) return undefined;
  const { anyOf, ...output } = open(schema);
  const answers = anyOf?.filter(({ $ref }) => $ref !== `#/${costEstimate}`);
  return answers === undefined || answers.length === 0 ? output : { anyOf: answers };
}

const schemaIn = (holder: unknown): unknown =>
  isJsonObject(holder) ? objectIn(objectIn(holder, "content"), "application/json")["schema"] : undefined;

/** A schema that says nothing of further members allows them, and names of types must be such to the compiler. */
function open(schema: unknown): Schema {
  if (Array.isArray(schema)) throw new TypeError("A schema is an object or a truth value.");
  if (!isJsonObject(schema)) return {};
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, value]): [string, unknown] => {
      if (name === "$ref") return [name, `#/${typeName(String(value).split("/").at(-1) ?? "")}`];
      if (name === "properties") return [name, mapValues(value, open)];
      if (listsOfSchemas.has(name) && Array.isArray(value)) return [name, value.map(open)];
      return [name, isJsonObject(value) && schemasInside.has(name) ? open(value) : value];
    }),
  );
  const isOpen = [schema["type"]].flat().includes("object") && schema["additionalProperties"] === undefined;
  // Whatever of it is not read has no effect on the types.
  return (isOpen ? { ...inner, "x-loose": true } : inner) as Schema;
}

const listsOfSchemas: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf"]);
const schemasInside: ReadonlySet<string> = new Set(["items", "additionalProperties"]);

const mapValues = <Value>(object: unknown, change: (value: unknown) => Value): Record<string, Value> =>
  Object.fromEntries(Object.entries(objectOrEmpty(object)).map(([name, value]) => [name, change(value)]));

/** Operators may call their schemas as they like. */
function typeName(id: string): string {
  const word = id.replaceAll(/\W/g, "_");
  // Every word of the language is all small letters, and an empty name is none.
  const isTaken = /^[a-z]*$/.test(word) || /^\d/.test(word) || ourTypes.has(word);
  return isTaken ? `_${word}` : word;
}

const ourTypes: ReadonlySet<string> = new Set([
  "Inputs",
  "Outputs",
  "OperationFacts",
  "OperationId",
  "Readonly",
  "Record",
]);
