/** What a client must know of an operation to send it. The table of all of them is written from the catalogue. */
export interface OperationFacts {
  readonly method: "GET" | "POST";
  /** `{social_a}` and the like are names of the installation; any other brace is an argument. */
  readonly path: string;
  readonly billed: boolean;
  /** The gateway takes an `Idempotency-Key` for it. */
  readonly keyed: boolean;
  /** `flag` streams when its body says `stream: true`; `always` has no other way to answer. */
  readonly streams?: "flag" | "always";
  /** It creates a task: the same idempotency key brings the same task again. */
  readonly startsTask?: true;
}

/** The parts of paths and headers that an operator may call something else. */
export interface Names {
  readonly social_a: string;
  readonly social_b: string;
  readonly social_c: string;
  readonly reseller: string;
  readonly traffic_analytics: string;
  readonly provider: string;
}

export const usualNames: Names = {
  social_a: "social_a",
  social_b: "social_b",
  social_c: "social_c",
  reseller: "reseller",
  traffic_analytics: "traffic_analytics",
  provider: "Tollgate",
};
