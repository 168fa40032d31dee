/** Where the pieces of a body go. */
export interface Reader {
  /** Sends a piece off at once; what is still to be waited for when the reader is behind. */
  readonly send: (piece: Uint8Array | string) => Promise<number> | undefined;
}

interface Writing {
  /** Sends the pieces, one after the other, and waits where it is told to; the body ends when all are taken. */
  readonly write: (reader: Reader) => Promise<void>;
  /** The reader has left. What is sent from now on is lost. */
  readonly cancel: () => void;
}

/**
 * A body that is written piece by piece and goes no faster than it is read. Bun hands the pieces of a direct stream
 * to the socket itself, without the queue of a stream that is pulled; a promise says that the reader is behind, and
 * whoever does not wait for it fills the memory.
 */
export const createPacedBody = ({ write, cancel }: Writing): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    type: "direct",
    pull: async (controller) => {
      const reader = new DirectReader(controller);
      await write(reader);
      // Bun holds an answer for sent once its body has ended, and a stop would cut what is still to be read of it.
      await reader.hasTaken().catch(() => {});
      controller.close();
    },
    cancel,
  });

class DirectReader implements Reader {
  readonly #controller: ReadableStreamDirectController;
  #behind: Promise<number> | undefined;

  constructor(controller: ReadableStreamDirectController) {
    this.#controller = controller;
  }

  send(piece: Uint8Array | string): Promise<number> | undefined {
    const taken = this.#controller.write(piece);
    // A small piece would otherwise wait for more of its kind.
    const sent = typeof taken === "number" ? this.#controller.flush() : taken;
    this.#behind = typeof sent === "number" ? undefined : sent;
    return this.#behind;
  }

  async hasTaken(): Promise<void> {
    await this.#behind;
  }
}
