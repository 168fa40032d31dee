import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { z } from "zod";
import { loadCatalogue } from "./catalogue.ts";
import { plainlyValid } from "./plainly-valid.ts";

const { operations } = await loadCatalogue([join(import.meta.dir, "../../../catalogue")]);

const odd = [
  null,
  undefined,
  "",
  "x",
  "x".repeat(300),
  0,
  -1,
  1,
  1.5,
  1e9,
  2 ** 60,
  NaN,
  true,
  [],
  [{}],
  [1],
  {},
];

/** The value, and the value with each of its members in turn replaced by each odd thing, at any depth. */
function* variantsOf(value: unknown): Generator<unknown> {
  yield value;
  if (Array.isArray(value)) {
    for (const [at, element] of value.entries()) {
      for (const variant of [...variantsOf(element), ...odd]) yield value.with(at, variant);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      for (const variant of [...variantsOf(member), ...odd]) yield { ...value, [name]: variant };
      const { [name]: _left, ...rest } = Object.fromEntries(Object.entries(value));
      yield rest;
    }
  }
}

/** Every member that the schema names, so that each is bent at least once. */
const withAllMembers = (schema: z.ZodType, body: unknown): unknown =>
  schema instanceof z.ZodObject
    ? { ...Object.fromEntries(Object.keys(schema.shape).map((name) => [name, null])), ...Object(body) }
    : body;

describe("the quick look at a body", () => {
  test("a body that it lets pass is one that its schema accepts, unchanged", () => {
    let passed = 0;
    for (const { body, example } of operations) {
      const look = body && plainlyValid(body);
      if (!look) continue;
      for (const start of [example?.body ?? {}, withAllMembers(body, example?.body), ...odd]) {
        for (const variant of variantsOf(start)) {
          if (!look(variant)) continue;
          passed++;
          const parsed = body.safeParse(variant);
          expect(parsed.error?.issues).toBeUndefined();
          expect(parsed.data).toEqual(variant);
        }
      }
    }
    expect(passed).toBeGreaterThan(100);
  });

  test("a conversation of ordinary shape passes", () => {
    const chat = operations.find(({ id }) => id === "chat.completions.create");
    expect(chat?.body && plainlyValid(chat.body)?.(chat.example?.body)).toBe(true);
  });

  test("of words that may stand there, only those pass", () => {
    const look = plainlyValid(z.looseObject({ tier: z.enum(["auto", "flex"]).nullish() }));
    const tiers = ["auto", "flex", null, undefined, "AUTO", "priority", 0, ["auto"]];
    expect(tiers.map((tier) => look?.({ tier }))).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(plainlyValid(z.enum(["auto"]).refine(() => false))).toBeUndefined();
  });

  test("a schema that changes values, or says what is not understood here, gets none", () => {
    const unsaid = [
      z.object({ a: z.string() }),
      z.strictObject({ a: z.string() }),
      z.looseObject({ a: z.string().default("x") }),
      z.looseObject({ a: z.string().trim() }),
      z.looseObject({ a: z.email() }),
      z.looseObject({ a: z.string().regex(/x/) }),
      z.looseObject({ a: z.coerce.number() }),
      z.looseObject({ a: z.number().multipleOf(2) }),
      z.looseObject({ a: z.number().gt(2) }),
      z.looseObject({ a: z.int32() }),
      z.looseObject({ a: z.array(z.string().toUpperCase()) }),
      z.looseObject({ a: z.string() }).refine(() => false),
      z.looseObject({ a: z.boolean().refine(() => false) }),
      z.looseObject({
        a: z
          .string()
          .optional()
          .refine(() => false),
      }),
      z.looseObject({ a: z.string() }).transform(() => 1),
    ];
    for (const schema of unsaid) expect(plainlyValid(schema)).toBeUndefined();
  });
});
