/**
 * The ids of calls as OpenAI takes them: of 64 characters at most, each for one call with one result. Other vendors give longer
 * ones, or begin anew with every turn, and clients that take up an old conversation may tell a result twice. What is written
 * hangs on what stands before it alone, so that a conversation that grows stays what it was.
 */
export class WrittenCallIds {
  readonly #calls = new Map<string, { readonly written: string[]; answered: number }>();

  called(id: string): string {
    const calls = this.#calls.get(id);
    const written = calls === undefined ? takenId(id) : madeId(`${id} ${calls.written.length}`);
    if (calls === undefined) this.#calls.set(id, { written: [written], answered: 0 });
    else calls.written.push(written);
    return written;
  }

  /** Undefined where every such call has its result already. One that answers nothing is OpenAI's to refuse. */
  answered(id: string): string | undefined {
    const calls = this.#calls.get(id);
    return calls === undefined ? takenId(id) : calls.written[calls.answered++];
  }
}

const idCharactersMax = 64;

const takenId = (id: string): string => (id.length <= idCharactersMax ? id : madeId(id));

const madeId = (text: string): string =>
  `call_${new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 32)}`;
