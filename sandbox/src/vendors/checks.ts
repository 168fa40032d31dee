// Small questions every vendor asks about a request.

import { isNothing, isObject, type JsonObject } from "../vendor.ts";

export const isInteger = (value: unknown, from: number, to: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= from && value <= to;

export const isNumber = (value: unknown, from: number, to: number): value is number =>
  typeof value === "number" && value >= from && value <= to;

export const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

export const isOptional = (value: unknown, fits: (value: unknown) => boolean): boolean =>
  isNothing(value) || fits(value);

export const isListOf = (value: unknown, fits: (member: unknown) => boolean): value is unknown[] =>
  Array.isArray(value) && value.every(fits);

/** The objects of a list; of anything else none. */
export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

export const objectOr = (value: unknown, otherwise: JsonObject = {}): JsonObject =>
  isObject(value) ? value : otherwise;

/** No limit said is no limit. */
export const limitOf = (value: unknown): number => (typeof value === "number" ? value : Infinity);
