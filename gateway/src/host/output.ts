/** Where a program's words go: a terminal, a file, or a pipe whose reader takes its time. */
export interface Output {
  readonly write: (text: string) => void;
  /** Resolves when everything was taken, or when nobody is left to take it. To exit before loses what a pipe cannot hold. */
  readonly taken: () => Promise<void>;
}

export function createOutput(stream: NodeJS.WritableStream & { readonly isTTY?: boolean }): Output {
  let underWay = 0;
  let allTaken: (() => void) | undefined;

  return {
    write: (text) => {
      underWay++;
      const shown = stream.isTTY === true ? withoutCommands(text) : text;
      // Also called when the reader has gone: whoever writes has nothing more to wait for then.
      stream.write(shown, () => {
        underWay--;
        if (underWay === 0) allTaken?.();
      });
    },
    taken: () =>
      new Promise((resolve) => {
        allTaken = resolve;
        if (underWay === 0) resolve();
      }),
  };
}

/**
 * A terminal obeys control characters, and much of what it is shown was written by models and vendors: it could be renamed, made
 * to type, or show another text than was sent. A file or a program gets every character.
 */
const withoutCommands = (text: string): string => text.replaceAll(/(?!\r?\n|\t)\p{Cc}/gu, "\ufffd");
