// The bodies of errors, to the last member; messages are free, everything else is not.

import { expect } from "bun:test";

/** What a test compares: the status, and the body as parsed. */
export interface Answered {
  readonly status: number;
  readonly body: unknown;
  readonly requestId: string;
}

export async function read(response: Response | Promise<Response>): Promise<Answered> {
  const answered = await response;
  const text = await answered.text();
  return {
    status: answered.status,
    body: parse(text),
    requestId: answered.headers.get("x-request-id") ?? "",
  };
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

// Typed here once, so that no test has to pass an `any` on.
export const someText: unknown = expect.stringMatching(/\S/);

/** `{"error":"…","code":"…","request_id":"…"}`, the request id being that of the header. */
export const flat = (status: number, code: string) => (answered: Answered) =>
  expectExactly(answered, status, { error: someText, code, request_id: answered.requestId });

/** `{"error":{"code","message",…},"request_id"}`. */
export const nested =
  (status: number, code: string, further: object = {}) =>
  (answered: Answered) =>
    expectExactly(answered, status, {
      error: { code, message: someText, ...further },
      request_id: answered.requestId,
    });

/** The usage endpoint's own 400. */
export const usage400 = (answered: Answered) => expectExactly(answered, 400, { error: someText });

/** The protocol's own word, and whatever members a refusal has beyond the usual. */
type Further<Word extends string> = Readonly<Record<Word, string>> & Readonly<Record<string, unknown>>;

export const openai =
  (status: number, code: string, { type, param = null, ...further }: Further<"type">) =>
  (answered: Answered) =>
    expectExactly(answered, status, { error: { message: someText, type, param, code, ...further } });

export const anthropic =
  (status: number, code: string, { type, ...further }: Further<"type">) =>
  (answered: Answered) =>
    expectExactly(answered, status, {
      type: "error",
      error: { type, message: someText, code, ...further },
      request_id: answered.requestId,
    });

export const gemini =
  (status: number, reason: string, { status: word, ...further }: Further<"status">) =>
  (answered: Answered) =>
    expectExactly(answered, status, {
      error: { code: status, message: someText, status: word, reason, ...further },
    });

function expectExactly(answered: Answered, status: number, body: unknown): void {
  expect(answered.requestId).toMatch(/\S/);
  expect({ status: answered.status, body: answered.body }).toEqual({ status, body });
}
