import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { costEstimate } from "../gateway/src/operation/cost-estimate.ts";
import { convertSchema, printType } from "./print-types.ts";
import type { Quote } from "./src/client.ts";
import { operations } from "./src/operations.ts";
import { operationsFile, renderOperations } from "./write-operations.ts";

test("the client's operations are the catalogue's; after a change there: npm run client:operations", async () => {
  expect(readFileSync(operationsFile, "utf8")).toBe(await renderOperations());
});

test("what is billed, keyed and streamed follows from the catalogue", () => {
  expect(operations["rerank.create"]).toEqual({
    method: "POST",
    path: "/v1/rerank",
    billed: true,
    keyed: true,
  });
  expect(operations["usage.get"]).toMatchObject({ billed: false, keyed: false });
  expect(operations["financial.metrics.snapshot"]).toMatchObject({ billed: true, keyed: false });
  expect(operations["traffic_analytics.website.traffic_engagement"]).toMatchObject({ keyed: true });
  expect(operations["chat.completions.create"].streams).toBe("flag");
  expect(operations["models.stream_generate_content"].streams).toBe("always");
  expect(operations["video.synthesis.create"].startsTask).toBe(true);
});

test("the client's type of a quote has every member of the gateway's", () => {
  const members = {
    object: true,
    operation_id: true,
    currency: true,
    estimate_kind: true,
    estimated_cost_micros_usd: true,
    max_cost_micros_usd: true,
    may_exceed_estimate: true,
    estimated_at: true,
    price_version: true,
    plan_multiplier: true,
    breakdown: true,
  } satisfies Readonly<Record<keyof Quote, true>>;
  expect(Object.keys(members)).toEqual(Object.keys(costEstimate.shape));
});

describe("a schema is printed as", () => {
  const printed = (schema: z.ZodType): string => printType(convertSchema(schema).schema);

  const cases: readonly (readonly [string, z.ZodType])[] = [
    ["string", z.string().min(1)],
    ["number", z.int().min(0)],
    ["number", z.string().transform(Number).meta({ type: "integer" })],
    ['"a" | "b"', z.enum(["a", "b"])],
    ["false | null", z.literal(false).nullable()],
    ["readonly string[]", z.array(z.string())],
    ["readonly (string | number)[]", z.array(z.union([z.string(), z.number()]))],
    ["readonly (readonly number[])[]", z.array(z.array(z.number()))],
    ["Readonly<Record<string, number>>", z.record(z.string(), z.int())],
    ["Readonly<Record<string, unknown>>", z.looseObject({})],
    ["Readonly<Record<string, never>>", z.object({})],
    ["unknown", z.unknown()],
    ["Named", z.object({ a: z.string() }).meta({ id: "Named" })],
    [
      "{\n  readonly a: string;\n  readonly b?: number | undefined;\n}",
      z.object({ a: z.string(), b: z.number().optional() }),
    ],
    ["{\n  readonly a: string;\n  readonly [name: string]: unknown;\n}", z.looseObject({ a: z.string() })],
    ['{\n  /** Why. */\n  readonly "a-b": string;\n}', z.object({ "a-b": z.string().describe("Why.") })],
  ];
  for (const [expected, schema] of cases) {
    test(expected.replaceAll("\n", " "), () => expect(printed(schema)).toBe(expected));
  }
});

test("further members may be anything where they are handed in, however deep, and are unknown where they are read", () => {
  const open = z.looseObject({ a: z.array(z.union([z.looseObject({}), z.looseObject({ b: z.string() })])) });
  const { schema } = convertSchema(open);
  expect(printType(schema, 0, "any").match(/unknown|any/g)).toEqual(["any", "any", "any"]);
  expect(printType(schema).match(/unknown|any/g)).toEqual(["unknown", "unknown", "unknown"]);
});
