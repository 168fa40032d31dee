import { refusals, type CallRefused } from "../../platform/refusals.ts";
import type { Dialect } from "./dialect.ts";

interface Asked {
  readonly dialect: Dialect;
  readonly path: string;
  readonly requestId: string;
  readonly quoting: boolean;
  readonly keyPresented: boolean;
}

/** A refusal in the words of whoever asked. */
export function refusalBody(refusal: CallRefused, asked: Asked): unknown {
  // Quotes are our own protocol, so a refused key looks the same there in every dialect.
  if (asked.quoting && refusal.status === 401) {
    const error = { code: refusal.code, message: refusal.message };
    return asked.keyPresented ? { error, request_id: asked.requestId } : { error };
  }
  switch (asked.dialect) {
    case "openai":
      return { error: { ...openaiError(refusal), ...further(refusal) } };
    case "anthropic":
      return {
        type: "error",
        error: { ...anthropicError(refusal), ...further(refusal) },
        request_id: asked.requestId,
      };
    case "gemini":
      return { error: { ...geminiError(refusal), ...further(refusal) } };
    case "plain":
      return plainBody(refusal, asked);
  }
}

function plainBody(refusal: CallRefused, { path, requestId }: Asked): unknown {
  if (path === "/v1/usage" && refusal.status === 400) return { error: refusal.message };
  const { code, message, details } = refusal;
  if (refusals[code].shape === "flat") return { error: message, code, request_id: requestId };
  const type = refusal.status === 429 ? { type: "rate_limit_error" } : {};
  const error = { ...type, code, message, ...details.inError };
  // The 503 family keeps its request id inside the error.
  if (refusal.status === 503) return { error: { ...error, request_id: requestId } };
  return { error, ...details.beside, request_id: requestId };
}

const further = ({ details }: CallRefused): object => ({ ...details.inError, ...details.beside });

const openaiError = (refusal: CallRefused) => ({
  message: refusal.message,
  type: openaiTypes[refusal.status] ?? (refusal.status >= 500 ? "server_error" : "invalid_request_error"),
  param: refusal.details.field ?? null,
  code: refusal.code,
});

const openaiTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "insufficient_quota",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

const anthropicError = (refusal: CallRefused) => ({
  type: anthropicTypes[refusal.status] ?? (refusal.status >= 500 ? "api_error" : "invalid_request_error"),
  message: refusal.message,
  code: refusal.code,
});

const anthropicTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
};

const geminiError = (refusal: CallRefused) => ({
  code: refusal.status,
  message: refusal.message,
  status: geminiStatuses[refusal.status] ?? (refusal.status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT"),
  ...(refusal.status === 429 ? { type: "rate_limit_error" } : {}),
  reason: refusal.code,
});

const geminiStatuses: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
};
