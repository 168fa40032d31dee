import type { JsonObject } from "../platform/json.ts";
import { comparePrices } from "./compare-prices.ts";
import { changed, compareSchemas, type Change, type Sides } from "./compare-schemas.ts";
import { listIn, objectIn, operationsOf, resolve, type ContractOperation } from "./contract-document.ts";

export interface ContractDiff {
  /** True when a caller that was right before can be wrong now. */
  readonly breaking: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly {
    readonly operation_id: string;
    readonly breaking: boolean;
    readonly changes: readonly Change[];
  }[];
}

/** What became of each operation between two contracts. Operations are known by their ids, wherever they stand. */
export function compareContracts(before: JsonObject, after: JsonObject): ContractDiff {
  const was = new Map(operationsOf(before).map((one) => [one.id, one]));
  const is = new Map(operationsOf(after).map((one) => [one.id, one]));
  const removed = [...was.keys()].filter((id) => !is.has(id)).toSorted();
  const both = [...was.values()].flatMap((one) => {
    const now = is.get(one.id);
    return now ? [{ was: one, is: now }] : [];
  });
  const changedOnes = both
    .map((pair) => ({ operation_id: pair.was.id, changes: compareOperations(before, after, pair) }))
    .filter(({ changes }) => changes.length > 0)
    .map(({ operation_id, changes }) => ({
      operation_id,
      breaking: changes.some(({ breaking }) => breaking),
      changes,
    }))
    .toSorted((a, b) => (a.operation_id < b.operation_id ? -1 : 1));
  return {
    breaking: removed.length > 0 || changedOnes.some(({ breaking }) => breaking),
    added: [...is.keys()].filter((id) => !was.has(id)).toSorted(),
    removed,
    changed: changedOnes,
  };
}

interface Pair {
  readonly was: ContractOperation;
  readonly is: ContractOperation;
}

function compareOperations(before: JsonObject, after: JsonObject, { was, is }: Pair): Change[] {
  const requests: Sides = { before, after, direction: "request" };
  return [
    ...compareAddress(was, is),
    ...compareKeys(was.described, is.described),
    ...compareParameters(requests, was.described, is.described),
    ...compareBodies(requests, was.described, is.described),
    ...compareAnswers({ before, after, direction: "response" }, was.described, is.described),
    ...comparePrices(was.described["x-price"], is.described["x-price"]),
    ...compareWords(was.described, is.described),
  ];
}

function compareAddress(was: ContractOperation, is: ContractOperation): Change[] {
  const from = `${was.method.toUpperCase()} ${was.path}`;
  const to = `${is.method.toUpperCase()} ${is.path}`;
  return from === to ? [] : [changed("moved", from, true, `it is now ${to}`)];
}

function compareKeys(was: JsonObject, is: JsonObject): Change[] {
  const schemes = (described: JsonObject): string[] =>
    listIn(described, "security").map((one) => JSON.stringify(one));
  const left = schemes(is);
  return schemes(was)
    .filter((scheme) => !left.includes(scheme))
    .map((scheme) => changed("key_removed", "security", true, `${scheme} opens it no more`));
}

function compareParameters(sides: Sides, was: JsonObject, is: JsonObject): Change[] {
  const before = parametersOf(sides.before, was);
  const after = parametersOf(sides.after, is);
  const changes: Change[] = [];
  for (const [name, parameter] of before) {
    const now = after.get(name);
    if (!now) changes.push(changed("parameter_removed", name, true, "it is gone"));
    else {
      if (now["required"] === true && parameter["required"] !== true) {
        changes.push(changed("became_required", name, true, "it must be there now"));
      }
      if (now["required"] !== true && parameter["required"] === true) {
        changes.push(changed("became_optional", name, false, "it need not be there any more"));
      }
      changes.push(...compareSchemas(sides, parameter["schema"], now["schema"], name));
    }
  }
  for (const [name, parameter] of after) {
    if (before.has(name)) continue;
    const required = parameter["required"] === true;
    const reason = required ? "it is new and required" : "it is new";
    changes.push(changed("parameter_added", name, required, reason));
  }
  return changes;
}

const parametersOf = (document: JsonObject, described: JsonObject): Map<string, JsonObject> =>
  new Map(
    listIn(described, "parameters").map((written) => {
      const parameter = resolve(document, written);
      return [`${String(parameter["in"])} ${String(parameter["name"])}`, parameter];
    }),
  );

function compareBodies(sides: Sides, was: JsonObject, is: JsonObject): Change[] {
  const before = objectIn(was, "requestBody");
  const after = objectIn(is, "requestBody");
  if (!("content" in before) && !("content" in after)) return [];
  if (!("content" in before)) {
    return [changed("body_added", "body", after["required"] === true, "a body is asked for")];
  }
  if (!("content" in after)) return [changed("body_removed", "body", true, "no body is taken")];
  return compareContents(sides, before, after, "body");
}

function compareAnswers(sides: Sides, was: JsonObject, is: JsonObject): Change[] {
  const before = objectIn(was, "responses");
  const after = objectIn(is, "responses");
  const changes: Change[] = [];
  for (const status of Object.keys({ ...before, ...after })) {
    const success = status.startsWith("2");
    if (!(status in after))
      changes.push(changed("answer_removed", status, success, "it is not given any more"));
    else if (!(status in before)) changes.push(changed("answer_added", status, false, "it can be given now"));
    else {
      const found = compareContents(
        sides,
        resolve(sides.before, before[status]),
        resolve(sides.after, after[status]),
        status,
      );
      changes.push(...found);
    }
  }
  return changes;
}

function compareContents(sides: Sides, was: JsonObject, is: JsonObject, at: string): Change[] {
  const before = objectIn(was, "content");
  const after = objectIn(is, "content");
  return Object.keys({ ...before, ...after }).flatMap((type) => {
    if (!(type in after)) return [changed("content_type_removed", at, true, `${type} is gone`)];
    if (!(type in before)) return [changed("content_type_added", at, false, `${type} is new`)];
    const schemas = [objectIn(before, type)["schema"], objectIn(after, type)["schema"]] as const;
    return compareSchemas(sides, ...schemas, at);
  });
}

const words = ["summary", "description", "x-definition", "x-requests-per-minute", "x-streams"] as const;

const compareWords = (was: JsonObject, is: JsonObject): Change[] =>
  words
    .filter((name) => was[name] !== is[name])
    .map((name) => changed("words_changed", name, false, "it is described otherwise"));
