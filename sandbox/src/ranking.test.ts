import { describe, expect, test } from "bun:test";
import { rank } from "./ranking.ts";
import { heldOut, paraphrased, tuning, type RankingGroup } from "./test-ranking-cases.ts";

describe("ranking", () => {
  test("finds the one best document among neighbours that share its words", () => {
    const figures = {
      tuning: measure(tuning),
      heldOut: measure(heldOut),
      all: measure([...tuning, ...heldOut]),
    };
    process.stdout.write(`ranking: ${JSON.stringify({ ...figures, paraphrased: measure(paraphrased) })}\n`);

    expect(figures.all.cases).toBeGreaterThanOrEqual(40);
    expect(figures.heldOut.cases).toBeGreaterThanOrEqual(figures.all.cases / 2);
    for (const { top1, mrr } of Object.values(figures)) {
      expect(top1).toBeGreaterThanOrEqual(0.9);
      expect(mrr).toBeGreaterThanOrEqual(0.93);
    }
  });

  test("documents of equal score keep their input order", () => {
    expect(rank("apple", ["pear", "apple", "plum", "apple"]).map(({ index }) => index)).toEqual([1, 3, 0, 2]);
  });

  test("scores lie in 0..1, full agreement above partial above none", () => {
    const [full, partial, none] = rank("green tea", ["green tea", "green door", "blue sky"]);
    expect([full?.index, partial?.index, none?.index]).toEqual([0, 1, 2]);
    expect(full?.score).toBeGreaterThan(0.8);
    expect(full?.score).toBeLessThanOrEqual(1);
    expect(none?.score).toBe(0);
  });

  test("a query without words scores everything zero", () => {
    expect(rank("?!", ["a", ""]).map(({ score }) => score)).toEqual([0, 0]);
  });
});

function measure(groups: readonly RankingGroup[]) {
  const places = groups.flatMap(({ documents, queries }) =>
    queries.map(([query, best]) => placeOf(query, best, documents)),
  );
  const share = (sum: number) => Math.round((1000 * sum) / places.length) / 1000;
  return {
    cases: places.length,
    top1: share(places.filter((place) => place === 1).length),
    mrr: share(places.reduce((sum, place) => sum + 1 / place, 0)),
  };
}

/** A tie counts against us: the input order must not decide a case. */
function placeOf(query: string, best: number, documents: readonly string[]): number {
  const ranked = rank(query, documents);
  const score = ranked.find(({ index }) => index === best)?.score ?? 0;
  const place = ranked.filter((other) => other.score >= score).length;
  if (place > 1 && process.env["RANKING_MISSES"] === "1") process.stdout.write(`miss ${place} ${query}\n`);
  return place;
}
