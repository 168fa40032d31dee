// How Anthropic refuses.

import type { JsonObject, VendorAnswer } from "../../vendor.ts";

/** The first thing wrong with a request, in the vendor's words: `messages.0.content: …`. */
export interface Refused {
  readonly refused: string;
  readonly details?: JsonObject;
}

export const refused = (message: string, details?: JsonObject): Refused => ({
  refused: message,
  ...(details && { details }),
});

export const error = (status: number, message: string, details?: JsonObject): VendorAnswer => ({
  status,
  body: {
    type: "error",
    error: { type: types[status] ?? "api_error", message, ...(details && { details }) },
  },
  billed: null,
});

const types: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  405: "invalid_request_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};
