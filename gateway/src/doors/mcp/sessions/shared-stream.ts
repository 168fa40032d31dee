/** An answer that comes in pieces, for everybody who asked for it. */
export interface SharedStream {
  /** All of it, from its first piece on, whenever it is asked for. */
  readonly open: () => Response;
}

/** It is read to its end by itself: whoever asked may have lost their connection, and asks again. */
export function shareStream(
  answer: Response,
  body: ReadableStream<Uint8Array>,
  onEnded: () => void,
): SharedStream {
  const pieces: Uint8Array[] = [];
  const readers = new Set<ReadableStreamDefaultController<Uint8Array>>();
  let hasEnded = false;

  const read = async (): Promise<void> => {
    try {
      for await (const piece of body) {
        pieces.push(piece);
        for (const reader of readers) reader.enqueue(piece);
      }
    } finally {
      hasEnded = true;
      onEnded();
      for (const reader of readers) reader.close();
    }
  };
  // A stream that breaks ends for its readers, too, and there is nobody else to tell.
  read().catch(() => {});

  const openStream = (): ReadableStream<Uint8Array> => {
    let leave = (): void => {};
    return new ReadableStream<Uint8Array>({
      start: (reader) => {
        for (const piece of pieces) reader.enqueue(piece);
        if (hasEnded) reader.close();
        else readers.add(reader);
        leave = () => void readers.delete(reader);
      },
      cancel: () => leave(),
    });
  };

  const { status, headers } = answer;
  return { open: () => new Response(openStream(), { status, headers }) };
}
