/** Tells when the JSON object that comes in pieces is whole, without keeping or parsing it. */
export class JsonExtent {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #begun = false;

  get isWhole(): boolean {
    return this.#begun && this.#depth === 0;
  }

  add(text: string): void {
    for (let at = 0; at < text.length; at++) this.#take(text.charAt(at));
  }

  #take(character: string): void {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (character === "\\") this.#escaped = true;
      else if (character === '"') this.#inString = false;
    } else if (character === '"') this.#inString = true;
    else if (character === "{" || character === "[") {
      this.#depth++;
      this.#begun = true;
    } else if (character === "}" || character === "]") this.#depth--;
  }
}
