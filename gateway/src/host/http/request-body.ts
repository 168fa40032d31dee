/** Where a body comes from. */
interface Source {
  /** Somebody wants more of it. */
  readonly onWanted: () => void;
}

/** A body that was not there with its head, as it arrives. What nobody asked for yet is kept, and its source told to wait. */
export class RequestBody implements AsyncIterable<Uint8Array> {
  keptBytes = 0;

  #state: "arriving" | "whole" | "broken" = "arriving";
  #pieces: Uint8Array[] = [];
  #waiting: PromiseWithResolvers<void> | undefined;
  #isReadWhole = false;
  readonly #source: Source;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Somebody waits for more. */
  get isWanted(): boolean {
    return this.#isReadWhole || this.#waiting !== undefined;
  }

  push(piece: Uint8Array): void {
    if (this.#state !== "arriving" || piece.length === 0) return;
    this.#pieces.push(piece);
    this.keptBytes += piece.length;
    this.#tell();
  }

  end(): void {
    if (this.#state === "arriving") this.#state = "whole";
    this.#tell();
  }

  /** The rest will not come, or nobody wants it any more. One that is whole stays so. */
  breakOff(): void {
    if (this.#state !== "arriving") return;
    this.#state = "broken";
    this.#pieces = [];
    this.keptBytes = 0;
    this.#tell();
  }

  async whole(): Promise<Uint8Array> {
    this.#isReadWhole = true;
    while (this.#state === "arriving") await this.#more();
    this.#refuseBroken();
    return Buffer.concat(this.#pieces.splice(0));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      this.#refuseBroken();
      const pieces = this.#pieces.splice(0);
      this.keptBytes = 0;
      yield* pieces;
      if (this.#state === "whole" && this.#pieces.length === 0) return;
      if (this.#pieces.length === 0) await this.#more();
    }
  }

  async #more(): Promise<void> {
    this.#waiting ??= Promise.withResolvers<void>();
    this.#source.onWanted();
    await this.#waiting.promise;
  }

  #tell(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  #refuseBroken(): void {
    if (this.#state === "broken")
      throw new DOMException("The body ended before it was complete.", "AbortError");
  }
}
