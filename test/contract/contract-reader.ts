// A contract as a stranger reads it: only the document, nothing of ours.

export type Json = Readonly<Record<string, unknown>>;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Json;
  /** As it would be written into an address or a header. */
  readonly example: string | undefined;
}

interface Body {
  readonly schema: Json;
  readonly example: Json | undefined;
}

interface DeclaredResponse {
  /** The names of its headers, in lower case. */
  readonly headers: ReadonlySet<string>;
  readonly content: Readonly<Record<string, Json>>;
}

export interface DeclaredOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Body | undefined;
  /** By status, or `default`. */
  readonly responses: Readonly<Record<string, DeclaredResponse>>;
  readonly models: readonly string[];
  readonly requestsPerMinute: number | undefined;
  /** Its request is not all written down, so nobody can make one that works. */
  readonly pending: boolean;
}

export function readOperations(document: Json): DeclaredOperation[] {
  return Object.entries(objectOf(document["paths"])).flatMap(([path, methods]) =>
    Object.entries(objectOf(methods)).map(([method, one]) =>
      readOperation(document, method.toUpperCase(), path, objectOf(one)),
    ),
  );
}

function readOperation(document: Json, method: string, path: string, described: Json): DeclaredOperation {
  const price = objectOf(described["x-price"]);
  const rpm = described["x-requests-per-minute"];
  const body = described["requestBody"];
  return {
    id: String(described["operationId"]),
    method,
    path,
    parameters: listOf(described["parameters"]).map((written) => readParameter(resolve(document, written))),
    body: body === undefined ? undefined : readBody(objectOf(body)),
    responses: Object.fromEntries(
      Object.entries(objectOf(described["responses"])).map(([status, written]) => {
        const response = resolve(document, written);
        const content = objectOf(response["content"]);
        const headers = Object.keys(objectOf(response["headers"])).map((name) => name.toLowerCase());
        const schemas = Object.entries(content).map(([type, one]) => [
          type,
          objectOf(objectOf(one)["schema"]),
        ]);
        return [
          status,
          { headers: new Set(headers), content: Object.fromEntries(schemas) as Record<string, Json> },
        ];
      }),
    ),
    models: listOf(price["models"]).map((one) => String(objectOf(one)["model"])),
    requestsPerMinute: typeof rpm === "number" ? rpm : undefined,
    pending: described["x-definition"] === "pending",
  };
}

function readParameter(written: Json): Parameter {
  const place = written["in"];
  if (place !== "path" && place !== "query" && place !== "header") {
    throw new Error(`A parameter stands in ${String(place)}.`);
  }
  return {
    name: String(written["name"]),
    in: place,
    required: written["required"] === true,
    schema: objectOf(written["schema"]),
    example: textOf(written["example"]),
  };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined;

function readBody(written: Json): Body {
  const media = objectOf(objectOf(written["content"])["application/json"]);
  const example = media["example"];
  return {
    schema: objectOf(media["schema"]),
    example: example === undefined ? undefined : objectOf(example),
  };
}

export function resolve(document: Json, value: unknown): Json {
  const written = objectOf(value);
  const reference = written["$ref"];
  if (typeof reference !== "string") return written;
  let found: unknown = document;
  for (const word of reference.split("/").slice(1)) found = objectOf(found)[word];
  if (found === undefined) throw new Error(`${reference} points nowhere.`);
  return objectOf(found);
}

export const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
