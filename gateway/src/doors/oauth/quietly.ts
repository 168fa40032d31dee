/**
 * The library complains in plain text about every runtime but Node: when it is loaded, and when it first fetches a
 * document, for whose safety we answer ourselves. Our log is JSON, and both are known.
 */
export async function quietly<Result>(work: () => Promise<Result>): Promise<Result> {
  const { warn } = console;
  Object.assign(console, { warn: () => {} });
  try {
    return await work();
  } finally {
    Object.assign(console, { warn });
  }
}
