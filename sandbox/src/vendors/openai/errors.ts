// How OpenAI refuses.

import { bearerOf, type StreamEvent, type VendorAnswer, type VendorCall } from "../../vendor.ts";

/** The first thing wrong with a request, named by its place. */
export interface Refused {
  readonly refused: { readonly message: string; readonly param: string | null; readonly code: string | null };
  /** 400 where it is not said. */
  readonly status?: number;
}

export const refused = (message: string, param: string | null, code: string | null = null): Refused => ({
  refused: { message, param, code },
});

interface ErrorWords {
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

export const error = (status: number, { message, param = null, code = null }: ErrorWords): VendorAnswer => ({
  status,
  body: { error: { message, type: typeOf(status), param, code } },
  billed: null,
});

export const failure = (message: string): Pick<StreamEvent, "data"> => ({
  data: error(500, { message }).body,
});

export function checkKey({ headers }: VendorCall, key: string): VendorAnswer | undefined {
  const bearer = bearerOf(headers);
  if (bearer === key) return undefined;
  if (bearer !== undefined)
    return error(401, { message: "Incorrect API key provided.", code: "invalid_api_key" });
  return error(401, {
    message: "You didn't provide an API key. Send it in an Authorization header: Bearer YOUR_KEY.",
  });
}

/** Every model exists, except those that say they do not. */
export const checkModel = (model: string): VendorAnswer | undefined =>
  model.startsWith("missing-")
    ? error(404, {
        message: `The model \`${model}\` does not exist or you do not have access to it.`,
        code: "model_not_found",
      })
    : undefined;

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
