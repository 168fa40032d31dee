// Google takes every member in camelCase and in snake_case. Here they are found by the first, whichever was
// written, and a refusal still names them as the caller wrote them.

import { isJsonObject } from "../../../platform/json.ts";
import { Inexpressible } from "../dialect.ts";

export interface Member {
  readonly value: unknown;
  /** Where it stands in the body, as the caller spelled it. */
  readonly path: string;
}

export interface Members {
  /** A member by its camelCase name; null counts as absent. */
  readonly take: (name: string) => Member | undefined;
  /** Refuses every member that nobody took, for dropping it in silence might change the answer. */
  readonly refuseRest: () => void;
}

export function membersOf({ value, path }: Member): Members {
  if (!isJsonObject(value)) throw new Inexpressible(path, "must be an object");
  const left = new Map<string, Member>();
  for (const [written, inner] of Object.entries(value)) {
    if (inner === null || inner === undefined) continue;
    const name = camelCase(written);
    const member = { value: inner, path: path === "" ? written : `${path}.${written}` };
    if (left.has(name)) throw new Inexpressible(member.path, "is given twice, in two spellings");
    left.set(name, member);
  }

  return {
    take: (name) => {
      const member = left.get(name);
      left.delete(name);
      return member;
    },
    refuseRest: () => {
      for (const member of left.values()) {
        if (!saysNothing(member.value)) throw new Inexpressible(member.path, "cannot be translated");
      }
    },
  };
}

/** Nobody takes a longer one, so that of megabytes nothing is replaced, letter by letter, in seconds. */
const nameCharactersMax = 100;

export const camelCase = (name: string): string =>
  name.length > nameCharactersMax
    ? name
    : name.replaceAll(/(?<=[A-Za-z0-9])_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The defaults of Google's format, which stand for absence; an empty object does not. */
const saysNothing = (value: unknown): boolean =>
  value === false || value === 0 || value === "" || (Array.isArray(value) && value.length === 0);

export function textOf(member: Member | undefined): string | undefined {
  if (member === undefined) return undefined;
  if (typeof member.value !== "string") throw new Inexpressible(member.path, "must be a string");
  return member.value;
}

export function numberOf(member: Member | undefined): number | undefined {
  if (member === undefined) return undefined;
  if (typeof member.value !== "number" || !Number.isFinite(member.value)) {
    throw new Inexpressible(member.path, "must be a number");
  }
  return member.value;
}

export function integerOf(member: Member | undefined): number | undefined {
  const number = numberOf(member);
  if (member !== undefined && !Number.isSafeInteger(number)) {
    throw new Inexpressible(member.path, "must be an integer");
  }
  return number;
}

export function objectOf(member: Member | undefined): Readonly<Record<string, unknown>> | undefined {
  if (member === undefined) return undefined;
  if (!isJsonObject(member.value)) throw new Inexpressible(member.path, "must be an object");
  return member.value;
}

/** The elements of a list, each knowing its place; an absent list is empty, and one object is to Google a list of one. */
export function elementsOf(member: Member | undefined): Member[] {
  if (member === undefined) return [];
  if (isJsonObject(member.value)) return [member];
  if (!Array.isArray(member.value)) throw new Inexpressible(member.path, "must be an array");
  return member.value.map((value: unknown, at) => ({ value, path: `${member.path}[${at}]` }));
}

export function textsOf(member: Member | undefined): string[] {
  return elementsOf(member).map((element) => textOf(element) ?? "");
}
