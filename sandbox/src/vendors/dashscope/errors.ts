// How DashScope refuses: a flat code and message, no error object.

import type { VendorAnswer } from "../../vendor.ts";

export const error = (status: number, message: string, code = codeOf(status)): VendorAnswer => ({
  status,
  body: { code, message },
  billed: null,
});

/** Injected faults come here without an answer around them, so the id is part of it. */
export function refuse(status: number, message: string): VendorAnswer {
  const answer = error(status, message);
  return { ...answer, body: { request_id: "00000000-0000-0000-0000-000000000000", ...answer.body } };
}

const codes: Readonly<Record<number, string>> = {
  400: "InvalidParameter",
  401: "InvalidApiKey",
  403: "AccessDenied",
  404: "NotFound",
  405: "MethodNotAllowed",
  429: "Throttling.RateQuota",
};

const codeOf = (status: number): string =>
  codes[status] ?? (status >= 500 ? "InternalError" : codes[400]) ?? "";
