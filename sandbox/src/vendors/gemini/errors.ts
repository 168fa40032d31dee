// How Gemini refuses.

import type { JsonObject, VendorAnswer, VendorCall } from "../../vendor.ts";

export interface Refused {
  readonly refused: string;
}

export const refused = (message: string): Refused => ({ refused: message });

export const error = (code: number, message: string, details: readonly JsonObject[] = []): VendorAnswer => ({
  status: code,
  body: {
    error: {
      code,
      message,
      status: statuses[code] ?? "UNKNOWN",
      ...(details.length === 0 ? {} : { details }),
    },
  },
  billed: null,
});

export function checkKey({ headers, query }: VendorCall, key: string): VendorAnswer | undefined {
  const given = headers.get("x-goog-api-key") ?? query.get("key");
  if (given === key) return undefined;
  if (given === null)
    return error(403, "Method doesn't allow unregistered callers. Please use an API key to call this API.");
  // Not 401: a wrong key is an invalid argument to this vendor.
  const reason = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" };
  return error(400, "API key not valid. Please pass a valid API key.", [
    { ...reason, domain: "googleapis.com" },
  ]);
}

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
