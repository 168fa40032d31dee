/** A pattern is a name, or the beginning of names with a `*` at its end. */
export const patternsMax = 64;
export const patternCharactersMax = 200;

/** The names that a key may use. Made once when the key is looked up, because every call asks. */
export class AllowedNames {
  readonly patterns: readonly string[];
  readonly #names: ReadonlySet<string>;
  readonly #beginnings: readonly string[];

  constructor(patterns: readonly string[]) {
    this.patterns = patterns;
    this.#names = new Set(patterns.filter((pattern) => !pattern.endsWith("*")));
    this.#beginnings = patterns.flatMap((pattern) => (pattern.endsWith("*") ? [pattern.slice(0, -1)] : []));
  }

  has(name: string): boolean {
    return this.#names.has(name) || this.#beginnings.some((beginning) => name.startsWith(beginning));
  }
}

/** What a key may be used for; where one of them is undefined, everything. */
export interface Allowed {
  readonly allowedModels: AllowedNames | undefined;
  readonly allowedOperations: AllowedNames | undefined;
}
