/**
 * Finds rows by a mark of 32 bits, in memory: for each row its mark and its number, and nothing the collector has to look
 * at. Two rows may have one mark, so whoever asks reads the rows that are named and compares.
 */
export class MarkIndex {
  readonly #salt: number;
  #marks = new Uint32Array(placesMin);
  #numbers = new Float64Array(placesMin);
  #size = 0;
  /** Places that are not empty: rows were there, be they gone or not. */
  #taken = 0;

  /** Callers choose their keys; with a salt of our own they cannot choose where those stand. */
  constructor(salt: number) {
    this.#salt = salt | 1;
  }

  get size(): number {
    return this.#size;
  }

  /** What it takes in memory: twelve bytes for each. */
  get places(): number {
    return this.#numbers.length;
  }

  add(mark: number, number: number): void {
    if (this.#taken >= this.#numbers.length * crowdedAt) this.#makeRoom();
    let place = this.#placeOf(mark);
    while ((this.#numbers[place] ?? empty) > empty) place = this.#after(place);
    if (this.#numbers[place] === empty) this.#taken++;
    this.#marks[place] = mark;
    this.#numbers[place] = number;
    this.#size++;
  }

  has(mark: number): boolean {
    return this.#find(mark, this.#placeOf(mark)) !== undefined;
  }

  /** The numbers of all rows with this mark. */
  numbersOf(mark: number): number[] {
    const numbers: number[] = [];
    let place = this.#find(mark, this.#placeOf(mark));
    while (place !== undefined) {
      numbers.push(this.#numbers[place] ?? empty);
      place = this.#find(mark, this.#after(place));
    }
    return numbers;
  }

  remove(mark: number, number: number): void {
    let place = this.#find(mark, this.#placeOf(mark));
    while (place !== undefined) {
      if (this.#numbers[place] === number) {
        this.#numbers[place] = gone;
        this.#size--;
        return;
      }
      place = this.#find(mark, this.#after(place));
    }
  }

  /** Twice to four times as many places as there are rows, whether there were more before or fewer. */
  #makeRoom(): void {
    const [marks, numbers] = [this.#marks, this.#numbers];
    const places = Math.max(placesMin, 2 ** Math.ceil(Math.log2((this.#size + 1) * 2)));
    this.#marks = new Uint32Array(places);
    this.#numbers = new Float64Array(places);
    this.#size = 0;
    this.#taken = 0;
    for (let place = 0; place < numbers.length; place++) {
      const number = numbers[place] ?? empty;
      if (number > empty) this.add(marks[place] ?? 0, number);
    }
  }

  /** Where a row with this mark stands, at this place or after it. */
  #find(mark: number, from: number): number | undefined {
    for (let place = from; this.#numbers[place] !== empty; place = this.#after(place)) {
      if (this.#marks[place] === mark && this.#numbers[place] !== gone) return place;
    }
    return undefined;
  }

  #placeOf(mark: number): number {
    return Math.imul(mark, this.#salt) >>> (Math.clz32(this.#numbers.length) + 1);
  }

  #after(place: number): number {
    return (place + 1) & (this.#numbers.length - 1);
  }
}

const placesMin = 256;
/** Beyond this, one has to look at too many places to find the right one. */
const crowdedAt = 0.75;
/** Numbers of rows begin with one. */
const empty = 0;
const gone = -1;
