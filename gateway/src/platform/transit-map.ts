interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  next: Entry<Value> | undefined;
}

const placesMin = 256;

/**
 * What is here only for a while, by a name of its own. A `Map` that many come to and leave is made anew again and again by
 * the engine, and the one before goes on to point at its successor: once the collector has taken one of them for old, it
 * keeps all that come after it, with every value they ever held, until it looks at everything. Of what left this one,
 * nothing points to what came later.
 */
export class TransitMap<Value> {
  #places: (Entry<Value> | undefined)[] = emptyPlaces(placesMin);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    return this.#find(key)?.value;
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined;
  }

  set(key: string, value: Value): void {
    this.delete(key);
    if (this.#size >= this.#places.length) this.#grow();
    const place = this.#placeOf(key);
    this.#places[place] = { key, value, next: this.#places[place] };
    this.#size++;
  }

  delete(key: string): void {
    const place = this.#placeOf(key);
    let before: Entry<Value> | undefined;
    for (let entry = this.#places[place]; entry; entry = entry.next) {
      if (entry.key === key) {
        if (before) before.next = entry.next;
        else this.#places[place] = entry.next;
        entry.next = undefined;
        this.#size--;
        return;
      }
      before = entry;
    }
  }

  clear(): void {
    this.#places = emptyPlaces(placesMin);
    this.#size = 0;
  }

  *entries(): Generator<readonly [key: string, value: Value]> {
    for (const first of this.#places) {
      for (let entry = first; entry; entry = entry.next) yield [entry.key, entry.value];
    }
  }

  #find(key: string): Entry<Value> | undefined {
    let entry = this.#places[this.#placeOf(key)];
    while (entry && entry.key !== key) entry = entry.next;
    return entry;
  }

  #placeOf(key: string): number {
    // The names of calls differ most at their ends.
    let sum = 0;
    for (let at = Math.max(0, key.length - 8); at < key.length; at++) {
      sum = (Math.imul(sum, 31) + key.charCodeAt(at)) | 0;
    }
    return sum & (this.#places.length - 1);
  }

  #grow(): void {
    const all = [...this.entries()];
    this.#places = emptyPlaces(this.#places.length * 2);
    this.#size = 0;
    for (const [key, value] of all) this.set(key, value);
  }
}

const emptyPlaces = <Value>(count: number): (Entry<Value> | undefined)[] =>
  Array.from({ length: count }, () => undefined);
