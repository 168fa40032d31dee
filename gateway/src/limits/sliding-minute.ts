// A minute that slides, to the millisecond: what was added at a moment counts for 60 s from then on, and no longer.
//
// Whatever is added within one millisecond is one slice, which leaves with the last of it. So nothing leaves too early,
// and nothing a whole millisecond too late. There are never more slices than additions, nor more than milliseconds in a
// minute; they lie in a ring that grows and shrinks with their number.

const minuteMs = 60_000;

/** The smallest ring has room for sixteen slices. Every length is a power of two, so that a mask finds a place. */
const placesMin = 32;

/** A class, because there are thousands of them: each has its figures, and all have the same functions. */
export class SlidingMinute {
  /** The last moment of each slice, and behind it how much the slice counts. */
  #ring = new Float64Array(placesMin);
  #mask = placesMin - 1;
  /** Where the first slice lies and where the next one will, were the ring a line without end. */
  #first = 0;
  #next = 0;
  /** The last moments of the first slice and of the newest: mostly nobody has to look into the ring for them. */
  #firstMs = Infinity;
  #newestMs = -Infinity;
  /** No slice before it counts. Those of which everything was given back are kept, but passed over only once. */
  #oldest = 0;
  #total = 0;

  /** Room for so much more at this moment. */
  remaining(limit: number, nowMs: number): number {
    this.#forget(nowMs);
    return limit - this.#total;
  }

  add(amount: number, nowMs: number): void {
    this.#forget(nowMs);
    this.#total += amount;
    // A clock that steps back begins no slice: what comes then counts as long as what came last.
    if (this.#first < this.#next && Math.floor(nowMs) <= this.#newestMs) this.#addToNewest(amount, nowMs);
    else this.#beginSlice(amount, nowMs);
  }

  /** Changes what was added at an earlier moment. When that counts no more, what is to be added counts from now on. */
  correct(by: number, addedAtMs: number, nowMs: number): void {
    this.#forget(nowMs);
    const slice = this.#find(addedAtMs);
    if (slice === undefined) {
      if (by > 0) this.add(by, nowMs);
      return;
    }
    const before = this.#amountOf(slice);
    const after = Math.max(0, before + by);
    this.#ring[(slice & this.#mask) + 1] = after;
    this.#total += after - before;
    this.#oldest = Math.min(this.#oldest, slice);
  }

  /** In how many milliseconds the oldest counted amount leaves the window; none when nothing counts. */
  oldestLeavesInMs(nowMs: number): number {
    this.#forget(nowMs);
    while (this.#oldest < this.#next && this.#amountOf(this.#oldest) === 0) this.#oldest += 2;
    return this.#oldest < this.#next ? this.#leavesInMs(this.#oldest, nowMs) : 0;
  }

  /** In how many `amount` will fit under `limit` if nothing else is added; undefined when it never can. */
  fitsInMs(amount: number, limit: number, nowMs: number): number | undefined {
    if (amount > limit) return undefined;
    this.#forget(nowMs);
    let tooMuch = this.#total + amount - limit;
    for (let slice = this.#oldest; slice < this.#next && tooMuch > 0; slice += 2) {
      tooMuch -= this.#amountOf(slice);
      if (tooMuch <= 0) return this.#leavesInMs(slice, nowMs);
    }
    return 0;
  }

  /** Nothing was added for so long that there is nothing left to correct. */
  isEmpty(nowMs: number): boolean {
    this.#forget(nowMs);
    return this.#first === this.#next;
  }

  #forget(nowMs: number): void {
    if (nowMs - this.#firstMs >= minuteMs) this.#forgetFirst(nowMs);
  }

  #forgetFirst(nowMs: number): void {
    do {
      this.#total -= this.#amountOf(this.#first);
      this.#first += 2;
      this.#firstMs = this.#first < this.#next ? this.#momentMs(this.#first) : Infinity;
    } while (nowMs - this.#firstMs >= minuteMs);
    if (this.#oldest < this.#first) this.#oldest = this.#first;
    const places = this.#ring.length;
    if (places > placesMin && (this.#next - this.#first) * 4 <= places) this.#resize(places / 2);
  }

  #addToNewest(amount: number, nowMs: number): void {
    const newest = this.#next - 2;
    const place = newest & this.#mask;
    if (nowMs > this.#newestMs) this.#newestMs = this.#ring[place] = nowMs;
    if (newest === this.#first) this.#firstMs = this.#newestMs;
    this.#ring[place + 1] = this.#amountOf(newest) + amount;
    this.#oldest = Math.min(this.#oldest, newest);
  }

  #beginSlice(amount: number, nowMs: number): void {
    if (this.#next - this.#first === this.#ring.length) this.#resize(this.#ring.length * 2);
    const place = this.#next & this.#mask;
    this.#ring[place] = nowMs;
    this.#ring[place + 1] = amount;
    if (this.#first === this.#next) this.#firstMs = nowMs;
    this.#newestMs = nowMs;
    this.#next += 2;
  }

  /** Where the slice of this moment lies, if it still counts. */
  #find(atMs: number): number | undefined {
    const fromMs = Math.floor(atMs);
    let high = this.#next;
    // Most is corrected soon after it was added, so the search begins at the end, with strides that double.
    let stride = 2;
    while (high - stride > this.#first && this.#momentMs(high - stride) >= fromMs) {
      high -= stride;
      stride *= 2;
    }
    let low = Math.max(this.#first, high - stride);
    while (low < high) {
      const middle = low + (((high - low) >> 2) << 1);
      if (this.#momentMs(middle) < fromMs) low = middle + 2;
      else high = middle;
    }
    return low < this.#next && this.#momentMs(low) < fromMs + 1 ? low : undefined;
  }

  #momentMs(slice: number): number {
    return this.#ring[slice & this.#mask] ?? 0;
  }

  #amountOf(slice: number): number {
    return this.#ring[(slice & this.#mask) + 1] ?? 0;
  }

  /** Not by way of the moment at which it leaves: with fractions of a millisecond that may come to more than a minute. */
  #leavesInMs(slice: number, nowMs: number): number {
    return minuteMs - (nowMs - this.#momentMs(slice));
  }

  #resize(places: number): void {
    const earlier = this.#ring;
    const earlierMask = this.#mask;
    this.#ring = new Float64Array(places);
    this.#mask = places - 1;
    for (let place = this.#first; place < this.#next; place++) {
      this.#ring[place & this.#mask] = earlier[place & earlierMask] ?? 0;
    }
  }
}
