import { z } from "zod";
import { noBody, type CallInput } from "../../operation/call-input.ts";
import type { Operation } from "../../operation/operation.ts";
import { plainlyValid } from "../../operation/plainly-valid.ts";
import { DecidingNames } from "../../platform/deciding-names.ts";
import { isJsonObject, parseJson, type JsonObject } from "../../platform/json.ts";
import { CallRefused, refuse } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import { returnCounted } from "../limits/return-counted.ts";

/** Looked at before the body is waited for: who asks wrongly need not send one. */
export const validateQuery = ({ rawQuery }: Call, { query }: Operation): unknown =>
  rawQuery === "" ? checkNothing(query) : check(query, readQuery(rawQuery), "query");

/** What came of a body, as bytes; nobody waits for one that the operation does not have. */
export function readBody(
  call: Call,
  { body, bodyBytesMax }: Operation,
  gate: Gate,
): Uint8Array | Promise<Uint8Array> {
  if (!body) return noBody;
  const reading = call.readBody(bodyBytesMax);
  return reading instanceof Promise
    ? reading.catch((error: unknown) => refuseBody(error, call, gate))
    : reading;
}

async function refuseBody(error: unknown, call: Call, gate: Gate): Promise<never> {
  if (error instanceof CallRefused && error.status === 429) await returnCounted(call, gate);
  throw error;
}

/** Turns bytes into an input the rest can trust, or says which field is wrong. Nothing else parses a request. */
export function validate(
  { rawQuery }: Call,
  { body: schema, bodyOptional, bodyValuesMax }: Operation,
  arrived: Pick<CallInput, "params" | "query" | "rawBody">,
): CallInput {
  const { params, query, rawBody } = arrived;
  if (!schema) return { query, body: undefined, params, rawQuery, rawBody };
  if (bodyOptional && rawBody.byteLength === 0) {
    return { query, body: check(schema, {}, "body"), params, rawQuery, rawBody };
  }
  const parsed = parseJson(rawBody, bodyValuesMax);
  if (!parsed.ok) refuse("invalid_parameters", parsed.why);
  if (!isJsonObject(parsed.value)) refuse("invalid_parameters", "the body must be a JSON object");
  const { plainNames } = parsed;
  const names = namesOf(schema);
  if (!plainNames || !names.plain) checkNames(names, parsed.value);
  return { query, body: check(schema, parsed.value, "body"), params, rawQuery, rawBody, plainNames };
}

/** What a schema declares is what a call is priced and decided by; so nothing may look like it to somebody else. */
interface DeclaredNames {
  readonly own: DecidingNames;
  /** All of them, those inside too, are in small letters. */
  readonly plain: boolean;
  readonly inside: readonly (readonly [member: string, names: DeclaredNames])[];
}

function checkNames({ own, inside }: DeclaredNames, members: JsonObject): void {
  own.checkAll(members);
  for (const [member, names] of inside) {
    const inner = members[member];
    if (isJsonObject(inner)) checkNames(names, inner);
  }
}

function namesOf(schema: z.ZodType): DeclaredNames {
  let names = namesBySchema.get(schema);
  if (!names) namesBySchema.set(schema, (names = readNames(schema)));
  return names;
}

const namesBySchema = new WeakMap<z.ZodType, DeclaredNames>();

function readNames(schema: z.core.$ZodType): DeclaredNames {
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema instanceof z.ZodObject ? schema.shape : {};
  const own = new DecidingNames(Object.keys(shape));
  const objects = Object.entries(shape).map(([name, member]) => [name, bareOf(member)] as const);
  const inside = objects
    .filter(([, member]) => member instanceof z.ZodObject)
    .map(([name, member]) => [name, readNames(member)] as const);
  return { own, plain: own.plain && inside.every(([, { plain }]) => plain), inside };
}

const bareOf = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? bareOf(schema.def.innerType) : schema;

/** A parameter given twice becomes a list, which no schema accepts: nobody has to guess which one counts. */
function readQuery(rawQuery: string): Record<string, string | string[]> {
  // Without a prototype no parameter's name can mean anything but itself.
  const query = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of new URLSearchParams(rawQuery)) {
    const earlier = query[name];
    if (Array.isArray(earlier)) earlier.push(value);
    else query[name] = earlier === undefined ? value : [earlier, value];
  }
  return query;
}

/** Most calls have no query; what their schema makes of that is always the same. */
function checkNothing(schema: z.ZodType): unknown {
  if (!ofNothing.has(schema)) ofNothing.set(schema, check(schema, readQuery(""), "query"));
  return ofNothing.get(schema);
}

const ofNothing = new WeakMap<z.ZodType, unknown>();

function check(schema: z.ZodType, value: unknown, place: "query" | "body"): unknown {
  if (quickLookOf(schema)?.(value) === true) return value;
  const result = schema.safeParse(value, firstIssueOnly);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join(".") ?? "";
  const given = issue?.path.reduce(memberOf, value);
  // A query has no lists of its own; in a body a list is what the caller wrote.
  const isRepeated = place === "query" && Array.isArray(given);
  const message = isRepeated ? `${field}: given more than once` : describe(issue, field, given);
  return refuse("invalid_parameters", message, field === "" ? {} : { field });
}

/** Only the first issue is told. A list of a hundred thousand wrong elements has as many, and none is looked for behind it. */
const firstIssueOnly: z.core.ParseContextInternal<z.core.$ZodIssue> = Object.freeze({ abortEarly: true });

function quickLookOf(schema: z.ZodType): ReturnType<typeof plainlyValid> {
  if (!quickLooks.has(schema)) quickLooks.set(schema, plainlyValid(schema));
  return quickLooks.get(schema);
}

const quickLooks = new WeakMap<z.ZodType, ReturnType<typeof plainlyValid>>();

function describe(issue: z.core.$ZodIssue | undefined, field: string, given: unknown): string {
  if (!issue) return "the request is not valid";
  if (issue.code === "unrecognized_keys") return `unknown member: ${issue.keys.join(", ")}`;
  if (given === undefined && unfit.has(issue.code)) return `${field} is required`;
  const what = issue.message.replace(/^Invalid input: /, "");
  return field === "" ? what : `${field}: ${what}`;
}

/** Issue codes that mean "required" when the value is missing. */
const unfit: ReadonlySet<z.core.$ZodIssue["code"]> = new Set([
  "invalid_type",
  "invalid_union",
  "invalid_value",
]);

function memberOf(value: unknown, name: PropertyKey): unknown {
  if (isJsonObject(value)) return value[String(name)];
  return Array.isArray(value) ? (value as unknown[])[Number(name)] : undefined;
}
