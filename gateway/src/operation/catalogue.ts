import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isCatalogueModel, type CatalogueModel } from "./define-model.ts";
import { isOperation } from "./define-operation.ts";
import type { Operation } from "./operation.ts";

/** Everything that can be sold, before a configuration says what is. */
export interface Catalogue {
  readonly operations: readonly Operation[];
  readonly models: readonly CatalogueModel[];
}

/** Reads every file of the folders; whatever they export that is an operation or a model is in the catalogue. */
export async function loadCatalogue(folders: readonly string[]): Promise<Catalogue> {
  const operations = new Map<string, Operation>();
  const models = new Map<string, CatalogueModel>();
  for (const file of await catalogueFiles(folders)) {
    // A dynamic import is untyped; what is taken from it is recognised by identity, not by shape.
    const exported = (await import(file)) as Record<string, unknown>;
    for (const value of Object.values(exported)) {
      if (isOperation(value)) addOnce(operations, value, file);
      else if (isCatalogueModel(value)) addOnce(models, value, file);
    }
  }
  return { operations: [...operations.values()], models: [...models.values()] };
}

async function catalogueFiles(folders: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const folder of folders) {
    const names = (await readdir(folder)).filter(
      (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
    );
    files.push(...names.toSorted().map((name) => resolve(join(folder, name))));
  }
  return files;
}

function addOnce<Item extends { readonly id: string }>(
  all: Map<string, Item>,
  item: Item,
  file: string,
): void {
  if (all.has(item.id) && all.get(item.id) !== item) {
    throw new Error(`The catalogue defines "${item.id}" twice; the second time in ${file}.`);
  }
  all.set(item.id, item);
}
