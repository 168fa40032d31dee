import type { Conventions } from "../../offer/conventions.ts";
import { anthropicErrorType, geminiErrorStatus, openaiErrorType } from "../../platform/dialect-words.ts";
import { refusals, type CallRefused } from "../../platform/refusals.ts";

interface Asked {
  readonly conventions: Pick<Conventions, "dialect" | "messageOnly400">;
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
  switch (asked.conventions.dialect) {
    case "openai":
      return { error: { ...openaiError(refusal), ...further(refusal) } };
    case "anthropic":
      return {
        type: "error",
        error: { ...anthropicError(refusal), ...further(refusal) },
        request_id: asked.requestId,
      };
    case "gemini":
      // Gemini's own `reason` is the code; what an approval lacks has the same name and is told in the message.
      return { error: { ...geminiError(refusal), ...further(refusal), reason: refusal.code } };
    case "plain":
      return plainBody(refusal, asked);
  }
}

function plainBody(refusal: CallRefused, { conventions, requestId }: Asked): unknown {
  if (conventions.messageOnly400 && refusal.status === 400) return { error: refusal.message };
  const { code, message, details } = refusal;
  if (refusals[code].shape === "bare") return { code, message, request_id: requestId };
  if (refusals[code].shape === "flat") return { error: message, code, request_id: requestId };
  const type = refusal.status === 429 ? { type: "rate_limit_error" } : {};
  const error = { ...type, code, message, ...inError(refusal) };
  // The 503 family keeps its request id inside the error.
  if (refusal.status === 503) return { error: { ...error, request_id: requestId } };
  return { error, ...details.beside, request_id: requestId };
}

const further = (refusal: CallRefused): object => ({ ...inError(refusal), ...refusal.details.beside });

/** A flat body has no place for `retryable`, and a limit's has its own words; there the header alone says it. */
function inError({ code, status, details }: CallRefused): object | undefined {
  const { retryable, inError: members } = details;
  const isTold = retryable !== undefined && refusals[code].shape === "nested" && status !== 429;
  return isTold ? { retryable, ...members } : members;
}

const openaiError = (refusal: CallRefused) => ({
  message: refusal.message,
  type: openaiErrorType(refusal.status),
  param: refusal.details.field ?? null,
  code: refusal.code,
});

const anthropicError = (refusal: CallRefused) => ({
  type: anthropicErrorType(refusal.status),
  message: refusal.message,
  code: refusal.code,
});

const geminiError = (refusal: CallRefused) => ({
  code: refusal.status,
  message: refusal.message,
  status: geminiErrorStatus(refusal.status),
  ...(refusal.status === 429 ? { type: "rate_limit_error" } : {}),
  reason: refusal.code,
  ...retryInfo(refusal),
});

/** Google says here how long to wait, and nowhere else, so that is where its clients look. */
const retryInfo = ({ details: { retryAfterSeconds } }: CallRefused): object =>
  retryAfterSeconds === undefined
    ? {}
    : {
        details: [
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfterSeconds}s` },
        ],
      };
