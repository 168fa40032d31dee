import { membersOf } from "./read-answer.ts";

/**
 * The runtime's fetch, for as long as the client's own settings let an attempt take. Bun and Node give up on a
 * connection that is silent for five minutes, and a whole answer may take longer: it would be paid, and lost.
 */
export const patientFetch = (url: string, init: RequestInit): Promise<Response> =>
  fetch(url, { ...init, ...withoutLimits() });

/** Each runtime heeds its own option and ignores the other's; browsers ignore both. */
function withoutLimits(): object {
  const dispatcher = patientDispatcher();
  return { timeout: false, ...(dispatcher ? { dispatcher } : {}) };
}

/**
 * Node's fetch sends through what the program, or Node itself, has put in this place. Whatever that is, be it a proxy or
 * one with certificates of its own, goes on doing it, and is only told with each request not to count the time.
 */
function patientDispatcher(): object | undefined {
  // Node puts it there when any part of fetch is first used; the first call of a program has to be patient, too.
  void new Headers();
  const usual: unknown = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1"));
  const { dispatch } = membersOf(usual);
  if (typeof usual !== "object" || usual === null || typeof dispatch !== "function") return undefined;
  const patiently = (request: object, handler: unknown): unknown =>
    Reflect.apply(dispatch, usual, [{ ...request, headersTimeout: 0, bodyTimeout: 0 }, handler]);
  return Object.create(usual, { dispatch: { value: patiently } }) as object;
}
