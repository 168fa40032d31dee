import { constants, fstatSync, openSync, writeSync } from "node:fs";

/** Where the log goes, without ever keeping a call waiting. */
export interface LogOutput {
  readonly write: (line: string) => void;
  /** Waits for a reader who is behind until everything was taken, but no longer than a moment. */
  readonly taken: () => Promise<void>;
}

interface LogOutputOptions {
  /** So much waits for a reader who is behind: some thousand lines. What comes then is lost. */
  readonly waitingBytesMax?: number;
  /** Called for each line that is lost. */
  readonly onLost: () => void;
  /** Once the reader is back, so that the log itself says what is missing in it. */
  readonly onCaughtUp: (lostLines: number) => void;
}

const waitingBytesUsual = 1_048_576;
const againAfterMs = 50;
const takenWithinMs = 1_000;

/**
 * Writing to a pipe whose reader stands still would block us, and every call with us: so no more is written to a pipe than
 * it takes. Files and terminals take everything.
 */
export function openLogOutput(
  stream: NodeJS.WritableStream & { readonly fd: number },
  options: LogOutputOptions,
): LogOutput {
  const pipe = openPipe(stream.fd);
  return pipe === undefined ? writeBounded(stream, options) : writeAsTaken(pipe, options);
}

/** Files and terminals take everything at once; what a socket does not take, as that of a journal, waits inside the stream. */
function writeBounded(stream: NodeJS.WritableStream, options: LogOutputOptions): LogOutput {
  const { waitingBytesMax = waitingBytesUsual } = options;
  const lost = countLost(options);
  let waitingBytes = 0;

  const taken = (bytes: number): void => {
    waitingBytes -= bytes;
    if (waitingBytes === 0) lost.tell();
  };

  return {
    write: (line) => {
      const bytes = Buffer.byteLength(line);
      if (waitingBytes > 0 && waitingBytes + bytes > waitingBytesMax) return lost.add();
      waitingBytes += bytes;
      stream.write(line, () => taken(bytes));
    },
    taken: () => waitWhile(() => waitingBytes > 0),
  };
}

/**
 * Opens the pipe a second time. Whether a write waits is a property of an opening, and other processes write through the first
 * one, too.
 */
function openPipe(fd: number): number | undefined {
  try {
    if (!fstatSync(fd).isFIFO()) return undefined;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Not every system shows a process its files by name.
    return undefined;
  }
}

function writeAsTaken(pipe: number, options: LogOutputOptions): LogOutput {
  const { waitingBytesMax = waitingBytesUsual } = options;
  const lost = countLost(options);
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  const wait = (bytes: Buffer): void => {
    waiting.push(bytes);
    waitingBytes += bytes.length;
    timer ??= setInterval(goOn, againAfterMs).unref();
  };

  const goOn = (): void => {
    const all = waiting;
    waiting = [];
    waitingBytes = 0;
    for (const [at, bytes] of all.entries()) {
      const rest = writeSome(pipe, bytes);
      if (rest.length === 0) continue;
      for (const left of [rest, ...all.slice(at + 1)]) wait(left);
      return;
    }
    clearInterval(timer);
    timer = undefined;
    lost.tell();
  };

  return {
    write: (line) => {
      const bytes = Buffer.from(line);
      const rest = waiting.length === 0 ? writeSome(pipe, bytes) : bytes;
      if (rest.length === 0) return;
      // A line that was begun is ended, or the next one would be spoilt, too.
      const isBegun = rest.length < bytes.length;
      if (isBegun || waitingBytes + rest.length <= waitingBytesMax) return wait(rest);
      lost.add();
    },
    taken: () => waitWhile(() => waiting.length > 0),
  };
}

/** Lines that nobody took, told of together once somebody takes lines again. */
function countLost({ onLost, onCaughtUp }: LogOutputOptions) {
  let lines = 0;
  return {
    add: (): void => {
      lines++;
      onLost();
    },
    tell: (): void => {
      const missing = lines;
      lines = 0;
      if (missing > 0) onCaughtUp(missing);
    },
  };
}

async function waitWhile(isBehind: () => boolean): Promise<void> {
  for (let waitedMs = 0; isBehind() && waitedMs < takenWithinMs; waitedMs += againAfterMs)
    await Bun.sleep(againAfterMs);
}

/** Writes what is taken at once, and answers with the rest: whoever stands still, or is away, may come back. */
function writeSome(pipe: number, bytes: Buffer): Buffer {
  try {
    return bytes.subarray(writeSync(pipe, bytes));
  } catch {
    return bytes;
  }
}
