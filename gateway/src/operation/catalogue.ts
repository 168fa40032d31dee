import { realpathSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { ConfigError } from "../platform/config-error.ts";
import { messageOf } from "../platform/error-message.ts";
import { modelProblems, operationProblems, type Exchanges } from "./check-definition.ts";
import { isCatalogueModel, type CatalogueModel } from "./define-model.ts";
import { isOperation } from "./define-operation.ts";
import type { Operation } from "./operation.ts";

/** Everything that can be sold, before a configuration says what is. */
export interface Catalogue {
  readonly operations: readonly Operation[];
  readonly models: readonly CatalogueModel[];
}

interface Loading {
  /** The operator's own folders. */
  readonly own?: readonly string[];
  /** What upstreams can be asked for; not checked when not given. */
  readonly exchanges?: Exchanges;
}

/**
 * Reads every file of the folders; whatever they export that is an operation or a model is in the catalogue. What ships
 * stays as the program began with it; the operator's own folders are read as they are now. Throws ConfigError for a
 * definition that could not be served.
 */
export async function loadCatalogue(
  shipped: readonly string[],
  { own = [], exchanges }: Loading = {},
): Promise<Catalogue> {
  const operations = new Map<string, Operation>();
  const models = new Map<string, CatalogueModel>();
  const files = await catalogueFiles([...shipped, ...own]);
  for (const folder of own) forgetModules(folder);
  for (const file of files) {
    const found = Object.entries(await exportsOf(file));
    const problems = found.flatMap(([name, value]) =>
      problemsOf(value, exchanges).map((problem) => `${name}.${problem}`),
    );
    if (problems.length > 0) throw new ConfigError(file, problems);
    for (const [, value] of found) {
      if (isOperation(value)) addOnce(operations, value, file);
      else if (isCatalogueModel(value)) addOnce(models, value, file);
    }
  }
  return { operations: [...operations.values()], models: [...models.values()] };
}

function problemsOf(value: unknown, exchanges: Exchanges | undefined): string[] {
  if (isOperation(value)) return operationProblems(value, exchanges);
  return isCatalogueModel(value) ? modelProblems(value) : [];
}

/**
 * An imported file is kept and never read again, so a reload would not see that it changed. Forgotten, it is read anew,
 * with what it imports from its folder, and the old one goes once nothing is served from it any more.
 */
function forgetModules(folder: string): void {
  const inside = join(realpathSync(folder), sep);
  // What could not be loaded is kept with its error too, and is not listed.
  const written = new Bun.Glob("**/*.{ts,js,json}").scanSync({ cwd: inside, absolute: true });
  for (const file of new Set([...Object.keys(require.cache), ...written])) {
    // A second copy of the engine would know none of the operations that the first one defined.
    const isOurs = file.startsWith(engineFolder) || file.includes(`${sep}node_modules${sep}`);
    if (file.startsWith(inside) && !isOurs) Reflect.deleteProperty(require.cache, file);
  }
}

const engineFolder = join(import.meta.dir, "..", sep);

async function catalogueFiles(folders: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const folder of folders) {
    const names = (await namesIn(folder)).filter(
      (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
    );
    files.push(...names.toSorted().map((name) => resolve(join(folder, name))));
  }
  return files;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    throw new Error(`catalogue_folders: ${folder} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** A dynamic import is untyped; what is taken from it is recognised by identity, not by shape. */
async function exportsOf(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(file)) as Record<string, unknown>;
  } catch (error) {
    throw new Error(`${file} cannot be used: ${whyNot(error)}`, { cause: error });
  }
}

/** What the compiler complains about may be in a file that this one imports, and may be several things. */
function whyNot(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(whyNot).join("; ");
  if (!(error instanceof Error)) return String(error);
  return error instanceof BuildMessage && error.position
    ? `${error.message} (${error.position.file}:${error.position.line}:${error.position.column})`
    : error.message;
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
