// A file of a catalogue that exports the result of `defineOperation` is an endpoint: its route, validation, price, quote and
// limits are derived from what stands there.

import { z } from "zod";
import type { CallInput } from "./call-input.ts";
import type { Operation, OwnOperation, SoldOperation, TaskOperation } from "./operation.ts";

type Input<Query extends z.ZodType, Body extends z.ZodType> = CallInput<z.infer<Query>, z.infer<Body>>;

type Declaration<Of, Query, Body> = Omit<Of, "query" | "body" | "bodyBytesMax" | "firstByteTimeoutMs"> & {
  readonly query?: Query;
  readonly body?: Body;
  readonly bodyBytesMax?: number;
  readonly firstByteTimeoutMs?: number;
};

const bodyBytesMaxUsual = 1024 * 1024;
const firstByteTimeoutUsualMs = 30_000;

export function defineOperation<
  Query extends z.ZodType = z.ZodUnknown,
  Body extends z.ZodType = z.ZodUnknown,
>(
  declaration:
    | Declaration<SoldOperation<Input<Query, Body>>, Query, Body>
    | Declaration<OwnOperation<Input<Query, Body>>, Query, Body>
    | Declaration<TaskOperation<Input<Query, Body>>, Query, Body>,
): Operation {
  const operation = {
    bodyBytesMax: bodyBytesMaxUsual,
    ...("servedBy" in declaration ? { firstByteTimeoutMs: firstByteTimeoutUsualMs } : {}),
    ...declaration,
    query: declaration.query ?? z.unknown(),
  };
  defined.add(operation);
  // The input these functions receive was parsed by the very schemas declared beside them, so dropping
  // the type parameters here loses nothing that could fail later.
  return Object.freeze(operation) as unknown as Operation;
}

const defined = new WeakSet<object>();

/** True for what `defineOperation` made; the catalogue loader asks it of every export it finds. */
export const isOperation = (value: unknown): value is Operation =>
  typeof value === "object" && value !== null && defined.has(value);
