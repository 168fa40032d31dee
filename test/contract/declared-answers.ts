// Whether an answer is one of those that its operation declares: status, headers, content type and body.

import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { listOf, objectOf, type DeclaredOperation, type Json } from "./contract-reader.ts";

export interface Answered {
  readonly status: number;
  /** The names of those that are not HTTP's own, in lower case. */
  readonly headers: readonly string[];
  readonly contentType: string;
  readonly text: string;
  /** An upstream was asked, so what it said may have been passed on. */
  readonly fromUpstream: boolean;
}

export interface Judge {
  /** Undefined when the answer is declared; otherwise what is wrong with it. */
  readonly fault: (operation: DeclaredOperation, answered: Answered) => string | undefined;
  /** Undefined when a value is as its schema says and has no other members. */
  readonly faultIn: (schema: Json, value: unknown) => string | undefined;
}

export function createJudge(document: Json): Judge {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats(ajv);
  const components = { components: document["components"] };
  ajv.addSchema({ ...components, $id: "contract" });
  ajv.addSchema({ ...closed(components), $id: "own" });
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (schema: Json, $id: "contract" | "own"): ValidateFunction => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', `"${$id}#/components/`);
    const known = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Json);
    compiled.set(text, known);
    return known;
  };

  return {
    faultIn: (schema, value) => {
      const validate = validatorOf(closed(schema), "own");
      return validate(value) ? undefined : ajv.errorsText(validate.errors);
    },
    fault: (operation, { status, headers, contentType, text, fromUpstream }) => {
      const declared = operation.responses[String(status)];
      const response = declared ?? (fromUpstream ? operation.responses["default"] : undefined);
      if (!response) return `the status ${status} is not declared`;
      const undeclared = headers.filter((name) => !response.headers.has(name));
      if (undeclared.length > 0) return `the headers ${undeclared.join(", ")} are not declared for ${status}`;
      const type = contentType.split(";")[0]?.trim() ?? "";
      const schema = response.content[type] ?? (fromUpstream ? response.content["*/*"] : undefined);
      if (!schema) return `the content type "${contentType}" is not declared for ${status}`;
      if (type !== "application/json") return text === "" ? "the body is empty" : undefined;
      const value = parse(text);
      if (value === undefined) return `the body is not JSON: ${text.slice(0, 200)}`;
      const validate = fromUpstream
        ? validatorOf(schema, "contract")
        : validatorOf(closed(ownPart(schema)), "own");
      return validate(value)
        ? undefined
        : `the body of ${status} is not as declared: ${ajv.errorsText(validate.errors)}; it is ${text.slice(0, 400)}`;
    },
  };
}

/** Where no upstream was asked, only what the gateway itself says may be said. */
function ownPart(schema: Json): Json {
  const alternatives = listOf(schema["anyOf"]);
  const own = alternatives.filter((one) => objectOf(one)["$ref"] !== "#/components/schemas/UpstreamAnswer");
  return own.length === alternatives.length ? schema : { anyOf: own };
}

/** What we say ourselves has no member that is not declared; what others say may have. */
const closed = (schema: Json): Json =>
  JSON.parse(JSON.stringify(schema), (_name, value: unknown) =>
    "properties" in objectOf(value) ? { additionalProperties: false, ...objectOf(value) } : value,
  ) as Json;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
