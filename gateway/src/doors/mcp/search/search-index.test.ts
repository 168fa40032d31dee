import { expect, test } from "bun:test";
import { join } from "node:path";
import { parseConfig } from "../../../config/load-config.ts";
import { createOffer } from "../../../offer/create-offer.ts";
import { loadCatalogue } from "../../../operation/catalogue.ts";
import { createSearchIndex } from "./search-index.ts";
import { heldOutQuestions, openQuestions, type SearchQuestion } from "./test-search-questions.ts";

const catalogue = await loadCatalogue([join(import.meta.dir, "../../../../../catalogue")]);
const offer = createOffer(catalogue, parseConfig("", "no configuration", {}), "http://sandbox.invalid");
const index = createSearchIndex(offer);

const idsFor = (asked: string): string[] => index.search(asked).map(({ operation }) => operation.id);

/** Questions about operations that this catalogue has. */
const askable = (questions: readonly SearchQuestion[]): readonly SearchQuestion[] =>
  questions.filter(({ wanted }) => wanted.some((id) => offer.operations.has(id)));

const missed = (questions: readonly SearchQuestion[]): string[] =>
  askable(questions)
    .filter(
      ({ asked, wanted }) =>
        !idsFor(asked)
          .slice(0, 3)
          .some((id) => wanted.includes(id)),
    )
    .map(({ asked }) => asked);

const hitRate = (questions: readonly SearchQuestion[]): number =>
  1 - missed(questions).length / askable(questions).length;

test("at least 60 questions with known answers measure the search", () => {
  expect(askable(openQuestions).length + askable(heldOutQuestions).length).toBeGreaterThanOrEqual(60);
});

test("19 of 20 held-out questions find their operation among the first three", () => {
  expect(hitRate(heldOutQuestions)).toBeGreaterThanOrEqual(0.95);
});

test("19 of 20 questions it was tuned on do so too", () => {
  expect(hitRate(openQuestions)).toBeGreaterThanOrEqual(0.95);
});

test("every operation is found by its own id and by its title", () => {
  for (const { operation } of offer.operations.values()) {
    expect([operation.id, idsFor(operation.id)[0]]).toEqual([operation.id, operation.id]);
    expect(idsFor(operation.title).slice(0, 3)).toContain(operation.id);
  }
});

test("every model on offer leads to an operation that takes it", () => {
  const models = new Set([...offer.operations.values()].flatMap((one) => [...one.models.keys()]));
  expect(models.size).toBeGreaterThan(20);
  for (const model of models) {
    for (const asked of [model, `what can I do with ${model.toUpperCase()}?`]) {
      const found = index.search(asked)[0];
      expect([asked, found?.models.has(model)]).toEqual([asked, true]);
    }
  }
});

test("the same question always gets the same order, and an empty one lists everything", () => {
  expect(idsFor("models and prices")).toEqual(idsFor("models and prices"));
  expect(idsFor("  ")).toEqual([...offer.operations.keys()]);
});

test("a question that no word answers finds nothing", () => {
  expect(idsFor("zebra xylophone")).toEqual([]);
  expect(idsFor("the of and")).toEqual([]);
});
