// OpenAPI 3.0.3 as JSON Schema, by its letter: `nullable` adds null to the `type` that stands beside it and does
// nothing else, so an `enum`, an `allOf` or a `$ref` that has no null forbids it.

import type { Json } from "./contract-reader.ts";

export const inJsonSchema = (document: Json): Json =>
  JSON.parse(JSON.stringify(document), (_name, value: unknown) => {
    if (typeof value !== "object" || value === null || !("nullable" in value)) return value;
    const { nullable, ...rest } = value;
    return nullable === true && "type" in rest ? { ...rest, type: [rest.type, "null"] } : rest;
  }) as Json;
