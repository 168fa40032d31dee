import { z } from "zod";
import { isJsonObject } from "../platform/json.ts";

/** True for a value that its schema surely accepts and hands on as it is; false says nothing. */
type IsPlainlyValid = (value: unknown) => boolean;

/**
 * A quick look that spares most bodies the schema's own parser, which makes a copy of every object it passes. It is
 * made from the schema itself, and only from words whose meaning is written here; a schema that says anything else
 * gets none, and whatever the look does not let pass is the parser's to judge and to name.
 */
export function plainlyValid(schema: z.core.$ZodType): IsPlainlyValid | undefined {
  if (schema instanceof z.ZodObject) return looseObject(schema);
  if (schema instanceof z.ZodArray) return array(schema);
  if (schema instanceof z.ZodString) return string(schema);
  if (schema instanceof z.ZodNumber) return number(schema);
  if (schema instanceof z.ZodBoolean) return hasChecks(schema) ? undefined : isBoolean;
  if (schema instanceof z.ZodEnum) return oneOf(schema);
  if (schema instanceof z.ZodUnknown) return hasChecks(schema) ? undefined : isGiven;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return lacking(schema);
  return undefined;
}

const isBoolean: IsPlainlyValid = (value) => typeof value === "boolean";
const isGiven: IsPlainlyValid = (value) => value !== undefined;

const checksOf = ({ _zod: { def } }: z.core.$ZodType): readonly z.core.$ZodCheck<never>[] => def.checks ?? [];
const hasChecks = (schema: z.core.$ZodType): boolean => checksOf(schema).length > 0;

function oneOf(schema: z.ZodEnum): IsPlainlyValid | undefined {
  const options: ReadonlySet<unknown> = new Set(schema.options);
  return hasChecks(schema) ? undefined : (value) => options.has(value);
}

function lacking(schema: z.ZodOptional | z.ZodNullable): IsPlainlyValid | undefined {
  const inner = plainlyValid(schema.def.innerType);
  if (!inner || hasChecks(schema)) return undefined;
  const absent = schema instanceof z.ZodOptional ? undefined : null;
  return (value) => value === absent || inner(value);
}

/** Only an object that keeps the members it does not name: any other would hand on less than it was given. */
function looseObject(schema: z.ZodObject): IsPlainlyValid | undefined {
  if (!(schema.def.catchall instanceof z.ZodUnknown) || hasChecks(schema)) return undefined;
  const members: (readonly [name: string, isValid: IsPlainlyValid])[] = [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  for (const [name, member] of Object.entries(shape)) {
    const isValid = plainlyValid(member);
    if (!isValid) return undefined;
    members.push([name, isValid]);
  }
  return (value) => {
    if (!isJsonObject(value)) return false;
    for (const [name, isValid] of members) if (!isValid(value[name])) return false;
    return true;
  };
}

function array(schema: z.ZodArray): IsPlainlyValid | undefined {
  const isValid = plainlyValid(schema.element);
  const length = boundsOf(checksOf(schema));
  if (!isValid || !length) return undefined;
  return (value) => {
    if (!Array.isArray(value) || value.length < length.min || value.length > length.max) return false;
    for (const element of value) if (!isValid(element)) return false;
    return true;
  };
}

function string(schema: z.ZodString): IsPlainlyValid | undefined {
  const length = boundsOf(checksOf(schema));
  if (!length || schema instanceof z.core.$ZodStringFormat || schema.def.coerce === true) return undefined;
  return (value) => typeof value === "string" && value.length >= length.min && value.length <= length.max;
}

function number(schema: z.ZodNumber): IsPlainlyValid | undefined {
  const format = schema instanceof z.core.$ZodNumberFormat ? schema._zod.def.format : undefined;
  const bounds = boundsOf(checksOf(schema));
  if (!bounds || schema.def.coerce === true || (format !== undefined && format !== "safeint"))
    return undefined;
  const isNumber = format === undefined ? Number.isFinite : Number.isSafeInteger;
  return (value) =>
    typeof value === "number" && isNumber(value) && value >= bounds.min && value <= bounds.max;
}

/** The bounds that the checks set; undefined when they ask for anything else. */
function boundsOf(
  checks: readonly z.core.$ZodCheck<never>[],
): { readonly min: number; readonly max: number } | undefined {
  let [min, max] = [-Infinity, Infinity];
  for (const check of checks) {
    if (check instanceof z.core.$ZodCheckMinLength) min = Math.max(min, check._zod.def.minimum);
    else if (check instanceof z.core.$ZodCheckMaxLength) max = Math.min(max, check._zod.def.maximum);
    else if (check instanceof z.core.$ZodCheckGreaterThan && check._zod.def.inclusive)
      min = Math.max(min, Number(check._zod.def.value));
    else if (check instanceof z.core.$ZodCheckLessThan && check._zod.def.inclusive)
      max = Math.min(max, Number(check._zod.def.value));
    else return undefined;
  }
  return { min, max };
}
