/** Where a program's words go: a terminal, a file, or a pipe whose reader takes its time. */
export interface Output {
  /** False once nothing more is taken: whoever has much to say may stop. */
  readonly write: (text: string) => boolean;
  /**
   * Resolves when everything was taken, or when nobody is left to take it. To exit before loses what a pipe cannot hold.
   * Tells why something could not be written; a reader who had enough and left is no such reason.
   */
  readonly taken: () => Promise<Error | undefined>;
}

export function createOutput(stream: NodeJS.WritableStream & { readonly isTTY?: boolean }): Output {
  let underWay = 0;
  let failed: NodeJS.ErrnoException | undefined;
  let allTaken: (() => void) | undefined;
  // Every write learns of its own failure. An error that nobody listens for would end the program with a trace.
  stream.on("error", () => {});

  return {
    write: (text) => {
      underWay++;
      const shown = stream.isTTY === true ? withoutCommands(text) : text;
      // Also called when the reader has gone: whoever writes has nothing more to wait for then.
      stream.write(shown, (error) => {
        failed ??= error ?? undefined;
        underWay--;
        if (underWay === 0) allTaken?.();
      });
      return failed === undefined;
    },
    taken: async () => {
      await new Promise<void>((resolve) => {
        allTaken = resolve;
        if (underWay === 0) resolve();
      });
      return failed?.code === "EPIPE" ? undefined : failed;
    },
  };
}

/**
 * A terminal obeys control characters, and much of what it is shown was written by models and vendors: it could be renamed, made
 * to type, or show another text than was sent. A file or a program gets every character.
 */
const withoutCommands = (text: string): string => text.replaceAll(/(?!\r?\n|\t)\p{Cc}/gu, "\ufffd");
