// Faults waiting to happen: what a test asked for, consumed in order, first match wins.

import { isObject, type JsonObject } from "./vendor.ts";

const modes = [
  "close",
  "hang",
  "partial",
  "endless",
  "slow_body",
  // These are for streams; to a whole answer each does the nearest thing to it (faulty-answer.ts).
  "cut_stream",
  "stall_stream",
  "error_event",
  "no_usage",
] as const;
type FaultMode = (typeof modes)[number];

export interface Fault {
  readonly vendor?: string;
  /** Looked for in the vendor's path and query: `/rerank`, `ticker=AAPL`. */
  readonly path_contains?: string;
  readonly times: number;
  readonly latency_ms?: number;
  readonly status?: number;
  readonly body?: string;
  readonly content_type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Merged into the true answer (RFC 7396): this is how a test makes wrong usage. In a stream it is merged
   * into every event with usage, as far as that has the members.
   */
  readonly json_patch?: JsonObject;
  readonly mode?: FaultMode;
  /** How many events of a stream are sent before it is cut, stalls or fails; 1 when not said. */
  readonly after_events?: number;
  /** How long to wait between the events of a stream. */
  readonly chunk_delay_ms?: number;
}

export interface Faults {
  readonly add: (fault: Fault) => void;
  /** The fault this call meets, used up once more; undefined when it meets none. */
  readonly take: (call: { vendor: string; target: string }) => Fault | undefined;
  /** `times` is what remains. */
  readonly list: () => readonly Fault[];
  readonly clear: () => void;
}

const faultsMax = 10_000;

export function createFaults(): Faults {
  let waiting: Fault[] = [];

  return {
    add(fault) {
      if (waiting.length >= faultsMax) throw new Error(`more than ${faultsMax} faults are waiting`);
      waiting.push(fault);
    },

    take({ vendor, target }) {
      const place = waiting.findIndex(
        (fault) =>
          (fault.vendor === undefined || fault.vendor === vendor) &&
          (fault.path_contains === undefined || target.includes(fault.path_contains)),
      );
      const fault = waiting[place];
      if (fault === undefined) return undefined;

      const left = { ...fault, times: fault.times - 1 };
      waiting.splice(place, 1, ...(left.times > 0 ? [left] : []));
      return fault;
    },

    list: () => [...waiting],

    clear() {
      waiting = [];
    },
  };
}

/** The fault, or a sentence saying what is wrong with it: a mistyped fault must not pass for a quiet one. */
export function readFault(value: unknown): Fault | string {
  if (!isObject(value)) return "a fault is a JSON object";
  for (const [member, given] of Object.entries(value)) {
    const rule = rules[member];
    if (rule === undefined) return `unknown member ${member}; known are ${Object.keys(rules).join(", ")}`;
    if (!rule.fits(given)) return `${member} must be ${rule.expected}`;
  }
  // Every member has been checked against its rule just above.
  return { times: 1, ...value } as Fault;
}

interface Rule {
  readonly expected: string;
  readonly fits: (given: unknown) => boolean;
}

const integer = (from: number, to: number): Rule => ({
  expected: `an integer from ${from} to ${to}`,
  fits: (given) => Number.isInteger(given) && Number(given) >= from && Number(given) <= to,
});
const text: Rule = { expected: "a string", fits: (given) => typeof given === "string" };

const rules: Readonly<Record<string, Rule>> = {
  vendor: text,
  path_contains: text,
  times: integer(1, 1_000_000_000),
  latency_ms: integer(0, 3_600_000),
  status: integer(200, 599),
  body: text,
  content_type: text,
  headers: {
    expected: "an object of strings",
    fits: (given) => isObject(given) && Object.values(given).every((header) => typeof header === "string"),
  },
  json_patch: { expected: "an object", fits: isObject },
  mode: { expected: `one of ${modes.join(", ")}`, fits: (given) => modes.some((mode) => mode === given) },
  after_events: integer(0, 1_000_000),
  chunk_delay_ms: integer(0, 3_600_000),
};
