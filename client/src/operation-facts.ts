declare const types: unique symbol;

/** What is handed to an operation: the parameters of its path, its query and its body, in one object. */
export type Arguments = Readonly<Record<string, unknown>>;

/**
 * What a client must know of an operation to send it. The table of those that ship is written from the catalogue, that
 * of a gateway with more of them from its contract: `tollgate contract --client`.
 */
export interface OperationFacts<Input extends object = Arguments, Output = unknown> {
  readonly method: "GET" | "POST";
  /** `{social_a}` and the like are names of the installation; any other brace is an argument. */
  readonly path: string;
  readonly billed: boolean;
  /** The gateway takes an `Idempotency-Key` for it. */
  readonly keyed: boolean;
  /** Arguments of a POST that go into its query and not into its body; `all` when it has no body. */
  readonly inQuery?: readonly string[] | "all";
  /** `flag` streams when its body says `stream: true`, `sometimes` by words of its own; `always` has no other way. */
  readonly streams?: "flag" | "always" | "sometimes";
  /** It creates a task: the same idempotency key brings the same task again. */
  readonly startsTask?: true;
  /** Never there; only the compiler sees it. */
  readonly [types]?: { readonly input: Input; readonly output: Output };
}

/** Operations by their ids, beside those that ship. */
export type OperationTable = Readonly<Record<string, OperationFacts<object>>>;

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
