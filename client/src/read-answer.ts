// An answer is read by its status and content type first; nothing is parsed on hope.

/** A whole answer of the gateway. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  /** Parsed where the answer says it is JSON and is; text otherwise. */
  readonly body: unknown;
  /** It said that it was JSON, and was not. */
  readonly malformed: boolean;
  readonly requestId: string | undefined;
  /** What the call cost, in micro-USD, where the answer says so. */
  readonly costMicrosUsd: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** False where the gateway says that the call is not to be sent again without asking anybody. */
  readonly shouldRetry: boolean;
}

export async function readAnswer(response: Response, headerWord: string, nowMs: number): Promise<Answer> {
  const contentType = response.headers.get("content-type") ?? "";
  const text = await response.text();
  const parsed = isJson(contentType) ? parseJson(text) : { value: text, malformed: false };
  return {
    status: response.status,
    contentType,
    body: parsed.value,
    malformed: parsed.malformed,
    ...readHead(response, headerWord, nowMs),
  };
}

type Head = Pick<Answer, "requestId" | "costMicrosUsd" | "retryAfterMs" | "shouldRetry">;

/** What the headers tell before any byte of the body is read. */
export const readHead = (response: Response, headerWord: string, nowMs: number): Head => ({
  requestId: response.headers.get("x-request-id") ?? undefined,
  costMicrosUsd: wholeNumber(response.headers.get(`x-${headerWord}-cost-micros-usd`)),
  retryAfterMs: readRetryAfterMs(response.headers.get("retry-after"), nowMs),
  shouldRetry: response.headers.get("x-should-retry") !== "false",
});

/** The gateway's word for what it refused, wherever the dialect of the path puts it. */
export function readRefusal(body: unknown): { code?: string; message?: string; retryable?: boolean } {
  const outer = membersOf(body);
  const error = membersOf(outer["error"]);
  const code = [error["reason"], error["code"], outer["code"]].find((word) => typeof word === "string");
  const message = [error["message"], outer["error"], outer["message"]].find(
    (word) => typeof word === "string",
  );
  const retryable = error["retryable"];
  return {
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
  };
}

/** What a 409 says about the call that has the key. */
export function readOriginal(body: unknown): {
  requestId?: string;
  chargedMicrosUsd?: number;
  failed?: boolean;
} {
  const outer = membersOf(body);
  const original = membersOf(outer["original"] ?? membersOf(outer["error"])["original"]);
  const { request_id: requestId, charged_micros_usd: charged, status } = original;
  return {
    ...(typeof requestId === "string" ? { requestId } : {}),
    ...(typeof charged === "number" ? { chargedMicrosUsd: charged } : {}),
    ...(typeof status === "string" ? { failed: status === "released" } : {}),
  };
}

export const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const isJson = (contentType: string): boolean => /^application\/(?:[\w.-]+\+)?json\b/i.test(contentType);

function parseJson(text: string): { value: unknown; malformed: boolean } {
  try {
    return { value: JSON.parse(text) as unknown, malformed: false };
  } catch {
    return { value: text, malformed: true };
  }
}

const wholeNumber = (written: string | null): number | undefined =>
  written !== null && /^\d{1,15}$/.test(written) ? Number(written) : undefined;

/** Seconds, or a date as HTTP writes it. */
function readRetryAfterMs(written: string | null, nowMs: number): number | undefined {
  if (written === null) return undefined;
  if (/^\d{1,9}$/.test(written)) return Number(written) * 1000;
  const atMs = Date.parse(written);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
