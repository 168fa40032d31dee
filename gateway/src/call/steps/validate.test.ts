import { expect, test } from "bun:test";
import { z } from "zod";
import type { Operation } from "../../operation/operation.ts";
import { CallRefused } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";
import { validate } from "./validate.ts";

/** What a body is refused for; undefined where it is not. */
function refusalOf(body: z.ZodType, value: unknown): unknown {
  const arrived = { params: {}, query: {}, rawBody: Buffer.from(JSON.stringify(value)) };
  try {
    // It looks at no other member of either.
    validate({ rawQuery: "" } as Call, { body } as Operation, arrived);
    return undefined;
  } catch (error) {
    return error instanceof CallRefused ? [error.message, error.details] : error;
  }
}

test("a list is looked at up to its first wrong element, which is told, and no further", () => {
  let looks = 0;
  const even = z.custom<number>((value) => ++looks > 0 && Number(value) % 2 === 0, "must be even");
  const body = z.looseObject({ list: z.array(even), other: z.string() });
  const list = Array.from({ length: 50_000 }, (_, at) => (at < 2 ? 0 : 1));
  expect(refusalOf(body, { list })).toEqual(["list.2: must be even", { field: "list.2" }]);
  expect(looks).toBe(3);
});
