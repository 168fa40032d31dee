import { misuse } from "./errors.ts";
import type { Arguments, Names, OperationFacts } from "./operation-facts.ts";
import type { OutgoingCall } from "./transport.ts";

export interface CallOptions {
  /** Above this the call is refused and nothing is spent. A decimal such as "0.01"; fractions of a micro-USD are rounded down. */
  readonly maxPriceUsd?: string | number | undefined;
  /** One is made for each call and kept over its retries; give your own to make a call once across restarts. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Puts arguments where the operation wants them: braces of the path, then the query of a GET or the body of a POST. */
export function buildCall(
  facts: OperationFacts<object>,
  args: Arguments,
  { names, options, newKey }: { names: Names; options: CallOptions; newKey: () => string },
): OutgoingCall {
  if (options.idempotencyKey !== undefined && !facts.keyed) {
    throw misuse("takes_no_idempotency_key", "This operation takes no idempotency key.");
  }
  // The gateway accepts no others, and some cannot even be sent: failing to send would look like a lost answer.
  if (options.idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(options.idempotencyKey)) {
    throw misuse("invalid_idempotency_key", "An idempotency key is 1 to 255 visible ASCII characters.");
  }
  const cap = options.maxPriceUsd === undefined ? undefined : decimalOf(options.maxPriceUsd);
  const inPath = new Set<string>();
  const path = facts.path.replaceAll(/\{(\w+)\}/g, (_brace, name: string) => {
    if (isPlaceholder(name, names)) return names[name];
    inPath.add(name);
    return segmentOf(name, args[name]);
  });
  const rest = Object.entries(args).filter(([name, value]) => !inPath.has(name) && value !== undefined);
  const query = queryOf([...usualQuery(facts, args), ...rest.filter(([name]) => goesIntoQuery(facts, name))]);
  const inBody = rest.filter(([name]) => !goesIntoQuery(facts, name));
  return {
    method: facts.method,
    path: query === "" ? path : `${path}?${query}`,
    ...(hasBody(facts) ? { body: bodyOf(inBody) } : {}),
    headers: {
      ...(facts.startsTask ? { [`x-${names.provider}-async`]: "enable" } : {}),
      ...(cap === undefined ? {} : { [`x-${names.provider}-max-price-usd`]: cap }),
    },
    billed: facts.billed,
    idempotencyKey: facts.keyed ? (options.idempotencyKey ?? newKey()) : undefined,
    repeatsAnswer: facts.startsTask === true,
    signal: options.signal ?? never(),
  };
}

/**
 * For callers without a signal. Each call gets its own, because a runtime keeps everything that listens to a signal as long
 * as that lives.
 */
const never = (): AbortSignal => new AbortController().signal;

/** Programs without types may pass none, or something else. */
export function checkArguments(args: Arguments | undefined = {}): Arguments {
  if (typeof args === "object" && args !== null && !Array.isArray(args)) return args;
  throw misuse("invalid_argument", "The arguments of a call are an object, with a member for each.");
}

const hasBody = ({ method, inQuery }: OperationFacts<object>): boolean =>
  method === "POST" && inQuery !== "all";

const goesIntoQuery = (facts: OperationFacts<object>, name: string): boolean =>
  !hasBody(facts) || facts.inQuery?.includes(name) === true;

/** Without this word the Gemini dialect streams a JSON array instead of events. */
const usualQuery = ({ streams, inQuery }: OperationFacts<object>, { alt }: Arguments): [string, string][] =>
  streams === "always" && alt === undefined && inQuery?.includes("alt") === true ? [["alt", "sse"]] : [];

/** The provider's name stands in headers only; in a path such a word is a parameter. */
const isPlaceholder = (name: string, names: Names): name is Exclude<keyof Names, "provider"> =>
  name !== "provider" && Object.hasOwn(names, name);

/** `.` and `..` would lead to another address than this operation's. */
function segmentOf(name: string, value: unknown): string {
  const text = asText(name, value);
  if (text === "." || text === "..")
    throw misuse("invalid_argument", `"${name}" is part of the address and cannot be "${text}".`);
  try {
    return encodeURIComponent(text);
  } catch {
    throw misuse(
      "invalid_argument",
      `"${name}" is part of the address and contains half a character (a surrogate alone).`,
    );
  }
}

function asText(name: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "number") return String(value);
  throw misuse("missing_argument", `"${name}" is part of the address and must be a text or a number.`);
}

/** JSON has no form for a bigint, nor for an object that contains itself. */
function bodyOf(entries: readonly (readonly [string, unknown])[]): string {
  try {
    return JSON.stringify(Object.fromEntries(entries));
  } catch (error) {
    throw misuse("invalid_argument", `The arguments cannot be written as JSON: ${String(error)}`);
  }
}

function queryOf(entries: readonly (readonly [string, unknown])[]): string {
  const query = new URLSearchParams();
  for (const [name, value] of entries) {
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      query.append(name, inQuery(name, one));
    }
  }
  return query.toString();
}

/** Anything else would be paid for as "[object Object]" or "null". */
function inQuery(name: string, value: unknown): string {
  if (["string", "number", "bigint", "boolean"].includes(typeof value)) return String(value);
  throw misuse(
    "invalid_argument",
    `"${name}" is part of the address and must be a text, a number, true or false, or a list of them.`,
  );
}

/**
 * A decimal without an exponent, however JavaScript would print the number. The gateway accepts nothing else, and some texts
 * cannot even be sent ("0,05 €"): failing to send would look like a lost answer.
 */
function decimalOf(amount: string | number): string {
  const decimal = typeof amount === "string" ? amount : printNumber(amount);
  if (/^\d{1,15}(?:\.\d{1,18})?$/.test(decimal)) return decimal;
  throw misuse("invalid_max_price", 'maxPriceUsd is USD, as a decimal such as "0.01".');
}

/** Arithmetic leaves more digits than a cap can have (0.01 / 3 has 19); those are cut off, so that it never grows. */
const printNumber = (amount: number): string =>
  // Twenty places, which every language once had, would round the smallest amounts up.
  // oxlint-disable-next-line oxc/number-arg-out-of-range
  (/e/i.test(String(amount)) ? amount.toFixed(30) : String(amount)).replace(/(?<=\.\d{18})\d+$/, "");
