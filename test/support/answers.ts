// What answers say, as tests read them.

export const json = async <Shape>(response: Response | Promise<Response>): Promise<Shape> =>
  (await (await response).json()) as Shape;

export interface Quote {
  readonly estimated_cost_micros_usd: number;
  readonly max_cost_micros_usd: number;
  readonly price_version: string;
}

/** A call that was not made, or whose end is not known. */
export interface Refused {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly request_id: string;
  };
}

/** A call that passed a limit, and the limit. */
export interface Limited {
  readonly error: {
    readonly type: string;
    readonly code: string;
    readonly limit: {
      readonly name: string;
      readonly limit: number;
      readonly remaining: number;
      readonly reset: number;
    };
  };
}

/** The code of a refusal, in whatever shape its door says it. */
export async function codeOf(response: Response): Promise<unknown> {
  const body = (await response.json()) as { error: { code: string } | string; code?: string };
  return typeof body.error === "string" ? body.code : body.error.code;
}
