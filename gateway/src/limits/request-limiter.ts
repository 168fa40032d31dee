/** How a key stands against its requests-per-minute limit, after this request was counted or refused. */
export interface RequestRate {
  readonly admitted: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds from now until the oldest counted request leaves the minute. */
  readonly resetsInMs: number;
  /** Milliseconds from now until one more request fits. */
  readonly retryInMs: number;
}

/** Invariants: in no 60 s are more than `limit` requests of a key admitted; a refused request counts nothing. */
export interface RequestLimiter {
  readonly take: (keyId: string, limit: number) => RequestRate | Promise<RequestRate>;
}
