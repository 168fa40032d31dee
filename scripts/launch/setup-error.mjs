/** A failure the reader can act on: shown as a sentence, without a stack. */
export class SetupError extends Error {}

/** For an entry's last line: a SetupError is for the reader, anything else is a bug and keeps its stack. */
export function fail(error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exit(1);
}
