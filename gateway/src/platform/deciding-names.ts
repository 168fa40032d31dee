// Some vendors' JSON readers (Go's among them) ignore the case of a member's name, and take the last of two that differ only
// in it: what we priced by `n` they would do by `N`.

import type { JsonObject } from "./json.ts";
import { refuse } from "./refusals.ts";

/** Enough for all names that are in use; a stranger's are looked at each time they come. */
const keptMax = 500;

/** The names of members by which a call is priced, bounded or decided. */
export class DecidingNames {
  /** None of them has a capital, so no other name in small letters can be mistaken for one of them. */
  readonly plain: boolean;
  readonly #names: ReadonlySet<string>;
  readonly #byFolded: ReadonlyMap<string, string>;
  /** Other names that were seen, each with its form in small letters: nearly every name that comes has come before. */
  readonly #others = new Map<string, string>();

  constructor(names: Iterable<string>) {
    this.#names = new Set(names);
    this.#byFolded = new Map([...this.#names].map((name) => [folded(name), name]));
    this.plain = [...this.#names].every((name) => folded(name) === name);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Refuses a name that differs from one of these only in its case. */
  check(name: string): void {
    if (!this.#names.has(name) && !this.#others.has(name)) this.#look(name);
  }

  /** The same for all members of an object, and for two of them that differ in nothing else. */
  checkAll(members: JsonObject): void {
    let seen: Map<string, string> | undefined;
    for (const name in members) {
      if (this.#names.has(name)) continue;
      const same = this.#others.get(name) ?? this.#look(name);
      seen ??= new Map();
      const earlier = seen.get(same);
      if (earlier !== undefined) refuseLetters(name, earlier);
      seen.set(same, name);
    }
  }

  #look(name: string): string {
    const same = folded(name);
    const meant = this.#byFolded.get(same);
    if (meant !== undefined) refuseLetters(name, meant);
    if (this.#others.size < keptMax && name.length <= keptNameCharactersMax) this.#others.set(name, same);
    return same;
  }
}

const keptNameCharactersMax = 100;

const refuseLetters = (name: string, meant: string): never =>
  refuse("invalid_parameters", `${name}: differs from ${meant} in the case of its letters alone`, {
    field: name,
  });

/** In small letters. The long s is an s to Go, as the Kelvin sign is a k to everybody. */
const folded = (name: string): string => name.toLowerCase().replaceAll("\u017f", "s");
