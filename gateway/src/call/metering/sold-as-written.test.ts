import { expect, test } from "bun:test";
import { createTerms } from "../../prices/terms.ts";
import { allTokenUnits } from "../../prices/token-units.ts";
import { soldAsWritten } from "./sold-as-written.ts";

const sounds = allTokenUnits.flatMap(({ unit, soldAs }) => (soldAs ? [[unit, soldAs] as const] : []));

test("tokens of every kind of sound are sold as written ones where they have no price, and as they are where they have one", () => {
  expect(sounds).not.toBeEmpty();
  for (const [heard, written] of sounds) {
    const used = { [heard]: 7, [written]: 1 };
    expect(soldAsWritten(used, { terms: createTerms("chat", "deaf", { [written]: 1n }) })).toEqual({
      [written]: 8,
    });
    expect(soldAsWritten(used, { terms: createTerms("chat", "talker", { [heard]: 2n }) })).toBe(used);
  }
});
