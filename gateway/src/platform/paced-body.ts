/** Where the pieces of a body go. */
export interface Reader {
  /** Sends a piece off at once; what is still to be waited for when the reader is behind. */
  readonly send: (piece: Uint8Array | string) => Promise<number> | undefined;
}

interface Writing {
  /** Sends the pieces, one after the other, and waits where it is told to; the body ends when it does. */
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
      await write(new DirectReader(controller));
      controller.close();
    },
    cancel,
  });

class DirectReader implements Reader {
  readonly #controller: ReadableStreamDirectController;

  constructor(controller: ReadableStreamDirectController) {
    this.#controller = controller;
  }

  send(piece: Uint8Array | string): Promise<number> | undefined {
    const taken = this.#controller.write(piece);
    // A small piece would otherwise wait for more of its kind.
    const sent = typeof taken === "number" ? this.#controller.flush() : taken;
    return typeof sent === "number" ? undefined : sent;
  }
}
