/** Where a program's words go: a terminal, a file, or a pipe whose reader takes its time. */
export interface Output {
  readonly write: (text: string) => void;
  /** Resolves when everything was taken, or when nobody is left to take it. To exit before loses what a pipe cannot hold. */
  readonly taken: () => Promise<void>;
}

export function createOutput(stream: NodeJS.WritableStream): Output {
  let underWay = 0;
  let allTaken: (() => void) | undefined;

  return {
    write: (text) => {
      underWay++;
      // Also called when the reader has gone: whoever writes has nothing more to wait for then.
      stream.write(text, () => {
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
