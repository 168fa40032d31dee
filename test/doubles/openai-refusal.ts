// How OpenAI says no.

import type { Shape } from "./known-fields.ts";
import { strangePath } from "./known-fields.ts";
import type { Answer } from "./scripted-answer.ts";
import { jsonAnswer } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export interface Problem {
  readonly message: string;
  readonly param?: string;
  readonly code?: string;
}

export const refuse = (status: number, { message, param, code }: Problem): Answer =>
  jsonAnswer(status, {
    error: { message, type: "invalid_request_error", param: param ?? null, code: code ?? null },
  });

/** What a stream says that breaks off. */
export const serverError: JsonObject = {
  message: "The server had an error while processing your request. Sorry about that!",
  type: "server_error",
  param: null,
  code: null,
};

export const invalid = (param: string, expected: string): Problem => ({
  message: `Invalid value for '${param}': expected ${expected}.`,
  param,
  code: "invalid_value",
});

export const missing = (param: string): Problem => ({
  message: `Missing required parameter: '${param}'.`,
  param,
  code: "missing_required_parameter",
});

export function unknownParameter(body: JsonObject, shape: Shape): Problem | undefined {
  const path = strangePath(body, shape);
  if (!path) return undefined;
  const param = path
    .map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join("");
  return { message: `Unknown parameter: '${param}'.`, param, code: "unknown_parameter" };
}
