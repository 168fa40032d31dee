import { expect, test } from "bun:test";
import { allowNull } from "./allow-null.ts";

const nothingElse = { type: "string", nullable: true, enum: [null] };

test("what may be null may be so by the letter of OpenAPI 3.0.3, and nothing else is changed", () => {
  const text = { nullable: true, type: "string", maxLength: 9 };
  expect(allowNull(text)).toEqual(text);
  expect(allowNull({ nullable: true, type: "string", enum: ["a"] })).toEqual({
    nullable: true,
    type: "string",
    enum: ["a", null],
  });
  expect(allowNull(nothingElse)).toEqual(nothingElse);
  const $ref = "#/components/schemas/Budget";
  expect(allowNull({ nullable: true, description: "Or none.", allOf: [{ $ref }] })).toEqual({
    description: "Or none.",
    anyOf: [{ $ref }, nothingElse],
  });
  const either = { oneOf: [{ type: "string" }, { $ref }] };
  expect(allowNull({ nullable: true, ...either })).toEqual({ anyOf: [either, nothingElse] });
});
