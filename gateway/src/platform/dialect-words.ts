// The words of each model dialect: for what went wrong, by HTTP status, and for a stream beside its events.

import type { ModelDialect } from "./dialect.ts";

const openaiTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "insufficient_quota",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

const anthropicTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  529: "overloaded_error",
};

const geminiStatuses: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
  529: "UNAVAILABLE",
};

export const openaiErrorType = (status: number): string =>
  openaiTypes[status] ?? (status >= 500 ? "server_error" : "invalid_request_error");

export const anthropicErrorType = (status: number): string =>
  anthropicTypes[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");

export const geminiErrorStatus = (status: number): string =>
  geminiStatuses[status] ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");

export interface StreamWords {
  /** Says in a silence that somebody is still there. */
  readonly ping: string;
  /** Whether its clients skip what is no event. */
  readonly takesComments: boolean;
}

export const streamWords: Readonly<Record<ModelDialect, StreamWords>> = {
  openai: { ping: ": ping\n\n", takesComments: true },
  anthropic: { ping: 'event: ping\ndata: {"type": "ping"}\n\n', takesComments: true },
  // Not every client of Google's skips comments: some take each line for data. Silence is left silent.
  gemini: { ping: "", takesComments: false },
};
