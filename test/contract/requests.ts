// Requests made from a contract: right ones, and ones with something wrong in them.

import fc from "fast-check";
import type { DeclaredOperation, Parameter } from "./contract-reader.ts";
import { anything, arbitraryOf, type Hints } from "./schema-arbitrary.ts";

export interface MadeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** What stands in the Authorization header: the caller's key, a stranger's, or nothing. */
  readonly key: "own" | "wrong" | "none";
  /** What was done to it, for whoever reads a failure. */
  readonly wrong: string;
}

/** A request in which everything is as the contract says. */
export function rightRequests(operation: DeclaredOperation, hints: Hints): fc.Arbitrary<MadeRequest> {
  const named = (place: Parameter["in"]): readonly Parameter[] =>
    operation.parameters.filter((parameter) => parameter.in === place);
  return fc
    .record({
      path: valuesOf(named("path"), hints),
      query: valuesOf(named("query"), hints),
      headers: valuesOf(named("header"), hints),
      body: operation.body === undefined ? fc.constant(undefined) : arbitraryOf(operation.body.schema, hints),
    })
    .map(({ path, query, headers, body }) => ({
      method: operation.method,
      path: fill(operation.path, path),
      query: Object.entries(query),
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      key: "own",
      wrong: "nothing",
    }));
}

/** The request that the contract itself gives as an example; undefined where it gives none. */
export function exampleRequest(operation: DeclaredOperation): MadeRequest | undefined {
  const { parameters, body, method } = operation;
  const given = parameters.filter(({ example }) => example !== undefined);
  const needed = parameters.filter(({ required }) => required);
  if (operation.pending || needed.some(({ example }) => example === undefined) || (body && !body.example))
    return undefined;
  const values = (place: Parameter["in"]) =>
    given
      .filter((one) => one.in === place)
      .flatMap((one) => (one.example === undefined ? [] : [[one.name, one.example] as const]));
  return {
    method,
    path: fill(operation.path, Object.fromEntries(values("path"))),
    query: values("query"),
    headers: {
      ...(body ? { "content-type": "application/json" } : {}),
      ...Object.fromEntries(values("header")),
    },
    body: body && JSON.stringify(body.example),
    key: "own",
    wrong: "nothing",
  };
}

/** A request with one thing in it spoilt. It may still be right by chance; the answer must be declared either way. */
export function spoiltRequests(operation: DeclaredOperation, hints: Hints): fc.Arbitrary<MadeRequest> {
  const right = rightRequests(operation, hints);
  const spoil = (wrong: string, how: (request: MadeRequest) => Partial<MadeRequest>) =>
    right.map((request): MadeRequest => ({ ...request, ...how(request), wrong }));
  const header = (name: string, values: readonly string[]) =>
    fc.tuple(right, fc.constantFrom(...values)).map(([request, value]): MadeRequest => ({
      ...request,
      headers: { ...request.headers, [name]: value },
      wrong: `${name}: ${value}`,
    }));
  const costMode = operation.parameters.find(({ name }) => name.endsWith("-Cost-Mode"))?.name;
  const maxPrice = operation.parameters.find(({ name }) => name.endsWith("-Max-Price-USD"))?.name;
  return fc.oneof(
    spoil("no key", () => ({ key: "none" })),
    spoil("a wrong key", () => ({ key: "wrong" })),
    spoil("no query", () => ({ query: [] })),
    spoil("every parameter twice", ({ query }) => ({ query: [...query, ...query] })),
    fc.tuple(right, fc.string({ maxLength: 8 })).map(([request, text]): MadeRequest => ({
      ...request,
      query: request.query.map(([name]) => [name, text] as const),
      wrong: "other values in the query",
    })),
    header(costMode ?? "X-Tollgate-Cost-Mode", ["quote", "QUOTE", "execute", ""]),
    header(maxPrice ?? "X-Tollgate-Max-Price-USD", ["0", "0.000000001", "-1", "much", "1e9"]),
    header("Idempotency-Key", ["once", "two words", "x".repeat(256)]),
    ...(operation.body ? spoiltBodies(right) : []),
  );
}

function spoiltBodies(right: fc.Arbitrary<MadeRequest>): fc.Arbitrary<MadeRequest>[] {
  const withBody = (wrong: string, bodies: fc.Arbitrary<string>) =>
    fc.tuple(right, bodies).map(([request, body]): MadeRequest => ({ ...request, body, wrong }));
  return [
    withBody(
      "broken JSON",
      fc.constantFrom("", "{", '{"model":', "[1,2", "\u0000", "{} {}", '{"__proto__":1}'),
    ),
    withBody(
      "another JSON",
      anything.map((value) => JSON.stringify(value)),
    ),
    fc.tuple(right, fc.nat(), anything).map(([request, at, value]): MadeRequest => ({
      ...request,
      body: withMember(request.body ?? "{}", at, () => value),
      wrong: "another value in a member",
    })),
    fc.tuple(right, fc.nat()).map(([request, at]): MadeRequest => ({
      ...request,
      body: withMember(request.body ?? "{}", at, () => undefined),
      wrong: "a member is missing",
    })),
    right.map((request): MadeRequest => ({
      ...request,
      headers: { ...request.headers, "content-type": "text/html" },
      wrong: "another content type",
    })),
  ];
}

/** The body with one of its members changed; JSON leaves out what is undefined. */
function withMember(body: string, at: number, value: () => unknown): string {
  const members = JSON.parse(body) as Record<string, unknown>;
  const names = Object.keys(members);
  const name = names[at % Math.max(names.length, 1)];
  return name === undefined ? body : JSON.stringify({ ...members, [name]: value() });
}

/** One text for each parameter; those that need not be there sometimes are not. */
function valuesOf(parameters: readonly Parameter[], hints: Hints): fc.Arbitrary<Record<string, string>> {
  const members = Object.fromEntries(
    parameters.map(({ name, schema, example }) => {
      const known = [...(hints.words[name] ?? []), ...(example === undefined ? [] : [example])];
      const usual = arbitraryOf(schema, hints).map(String);
      return [
        name,
        known.length === 0 ? usual : fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...known) }, usual),
      ];
    }),
  );
  const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name);
  return fc.record(members, { requiredKeys }) as fc.Arbitrary<Record<string, string>>;
}

const fill = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(values[name] ?? ""));

/** One or two dots alone, written out or not, are taken out of every address before it is sent. */
const segmentOf = (value: string): string =>
  /^\.{1,2}$/.test(value) ? `${value}_` : encodeURIComponent(value);
