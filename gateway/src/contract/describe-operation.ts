import { offeredExample } from "../offer/examples/example-request.ts";
import type { OfferedOperation } from "../offer/offer.ts";
import type { Names } from "../operation/names.ts";
import type { Example, Operation } from "../operation/operation.ts";
import { streamsWhen } from "../operation/streams-when.ts";
import { isJsonObject, listOrEmpty, objectOrEmpty, type JsonObject } from "../platform/json.ts";
import type { Components } from "./components.ts";
import { describeAnswers } from "./describe-answers.ts";
import { describeRequestHeaders } from "./describe-headers.ts";
import { priceOf } from "./price-of.ts";

/** One operation of the offer as OpenAPI says it. */
export function describeOperation(
  offered: OfferedOperation,
  names: Names,
  components: Components,
): JsonObject {
  const { operation, path } = offered;
  const example = offeredExample(offered);
  const streaming = streamsWhen(operation);
  const parameters = [
    ...pathParameters(operation, path, example),
    ...queryParameters(operation, example, components),
    ...describeRequestHeaders(operation, names, components),
  ];
  return {
    operationId: operation.id,
    summary: operation.title,
    description: [operation.summary, ...(operation.notes === undefined ? [] : [operation.notes])].join(
      "\n\n",
    ),
    tags: [operation.category],
    security: [{ bearer: [] }, ...clientKey(offered)],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.body ? { requestBody: describeBody(operation, example, components) } : {}),
    responses: describeAnswers(offered, names, components),
    "x-price": priceOf(offered),
    ...(operation.limits?.rpm ? { "x-requests-per-minute": operation.limits.rpm.limit } : {}),
    ...(streaming === undefined ? {} : { "x-streams": streaming }),
    ...(forwardsQuery(operation) ? { "x-further-query-parameters": "forwarded as they come" } : {}),
    ...(operation.definition === "pending" ? { "x-definition": "pending" } : {}),
  };
}

/** The security schemes the operations above refer to. */
export const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "An API key (`tgk_…`) or an OAuth access token (`tgo_…`).",
  },
  "x-api-key": {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "Where Anthropic's clients send the key.",
  },
  "x-goog-api-key": {
    type: "apiKey",
    in: "header",
    name: "x-goog-api-key",
    description: "Where Google's clients send the key.",
  },
} as const;

const clientKey = ({ conventions: { keyHeader } }: OfferedOperation): JsonObject[] =>
  keyHeader === undefined ? [] : [{ [keyHeader]: [] }];

const pathParameters = ({ params }: Operation, path: string, example: Example | undefined): JsonObject[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...(params?.[name] === undefined ? {} : { description: params[name] }),
    schema: { type: "string", minLength: 1 },
    ...exampleOf(example?.params?.[name]),
  }));

function queryParameters(
  { query }: Operation,
  example: Example | undefined,
  components: Components,
): JsonObject[] {
  const { properties, required } = components.schema(query);
  if (!isJsonObject(properties)) return [];
  const needed = listOrEmpty(required);
  return Object.entries(properties).map(([name, written]) => {
    const { description, ...schema } = objectOrEmpty(written);
    return {
      name,
      in: "query",
      ...(needed.includes(name) ? { required: true } : {}),
      ...(description === undefined ? {} : { description }),
      schema,
      ...exampleOf(example?.query?.[name], schema["type"] === "integer"),
    };
  });
}

const exampleOf = (value: string | undefined, isNumber = false): JsonObject =>
  value === undefined ? {} : { example: isNumber ? Number(value) : value };

const describeBody = (
  { body, bodyOptional }: Operation,
  example: Example | undefined,
  components: Components,
): JsonObject => ({
  required: bodyOptional !== true,
  content: {
    "application/json": {
      schema: body ? components.schema(body) : {},
      ...(example?.body === undefined ? {} : { example: example.body }),
    },
  },
});

/** What is not prescribed travels to the vendor all the same. */
const forwardsQuery = (operation: Operation): boolean =>
  "servedBy" in operation &&
  Object.values(operation.servedBy).some(({ exchange }) => exchange === "forward_query");
