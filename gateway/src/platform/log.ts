import { isoTime } from "./clock.ts";
import { withoutOurSecrets } from "./our-secrets.ts";

// One JSON object a line. Fields are scalars chosen by the writer, never a request, a header bag or an
// error object; as a last line of defence every string that looks like one of our keys, or equals a
// configured vendor key, is replaced.

type LogLevel = "debug" | "info" | "warn" | "error" | "silent";
type Scalar = string | number | bigint | boolean | null | undefined;
type LogFields = Readonly<Record<string, Scalar>>;

export interface Log {
  /** Asked before anything is put together that is written at this level only, and often. */
  readonly writesDebug: boolean;
  readonly debug: (event: string, fields?: LogFields) => void;
  readonly info: (event: string, fields?: LogFields) => void;
  readonly warn: (event: string, fields?: LogFields) => void;
  readonly error: (event: string, fields?: LogFields) => void;
  /** Values that must never be written, whoever puts them into a field. */
  readonly hide: (secrets: readonly string[]) => void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly nowMs: () => number;
  readonly write: (line: string) => void;
}

const ranks: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

export function createLog(options: LogOptions): Log {
  let hidden: readonly string[] = [];

  const scrub = (text: string): string => {
    let clean = withoutOurSecrets(text);
    for (const secret of hidden) clean = clean.replaceAll(secret, "[secret]");
    return clean;
  };

  const writer =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      if (ranks[level] < ranks[options.level]) return;
      const line: Record<string, unknown> = { time: isoTime(options.nowMs()), level, event };
      for (const [name, value] of Object.entries(fields)) {
        if (value === undefined) continue;
        line[name] = typeof value === "bigint" ? Number(value) : value;
      }
      options.write(`${scrub(JSON.stringify(line))}\n`);
    };

  return {
    writesDebug: options.level === "debug",
    debug: writer("debug"),
    info: writer("info"),
    warn: writer("warn"),
    error: writer("error"),
    hide: (secrets) => {
      // Very short values would blank out ordinary words; no vendor issues keys that short.
      const long = secrets.filter((secret) => secret.length >= 8);
      // A line is JSON, in which a quote is escaped.
      const written = long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
      // The longest first: a shorter one that it begins with would leave its end to be read.
      hidden = [...new Set([...hidden, ...written])].toSorted((a, b) => b.length - a.length);
    },
  };
}

export const isLogLevel = (text: string): text is LogLevel => Object.hasOwn(ranks, text);

/** What an unexpected error may say in a log: names, messages and its stack, not the objects hanging off it. */
export function describeError(error: unknown): { error: string; because?: string; stack?: string } {
  if (!(error instanceof Error)) return { error: String(error) };
  const { cause, stack } = error;
  return {
    error: nameAndMessage(error),
    ...(cause instanceof Error ? { because: nameAndMessage(cause) } : {}),
    ...(stack === undefined ? {} : { stack }),
  };
}

const nameAndMessage = ({ name, message }: Error): string => `${name}: ${message}`;
