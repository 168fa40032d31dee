// How much a visitor may do in a minute before anybody knows them by a key's own limits. The names stand here together,
// because two limits of one name would be counted as one.

import { addressBlock } from "../platform/caller-address.ts";
import type { Limiter, RateWant } from "./limiter.ts";

/** Whether it fitted; what did not fit is not counted. */
export const tryTake = async (limiter: Pick<Limiter, "take">, want: RateWant): Promise<boolean> =>
  (await limiter.take([want])).kind === "taken";

/** Whoever presents more unknown keys and tokens than this is guessing. */
export const guessesMax = 60;

export const keyGuesses = (address: string | undefined): RateWant =>
  requests(`guesses ${addressBlock(address)}`, guessesMax);

/** Wrong keys typed into a form. A person mistypes a few times; a guesser needs more than all time. */
export const signInFailures = (address: string | undefined): RateWant =>
  requests(`sign-in failures ${addressBlock(address)}`, 10);

/** Requests to all pages that people sign in at. A person needs a dozen for a sign-in; many may share an address. */
export const signInVisits = (address: string | undefined): RateWant =>
  requests(`sign-in ${addressBlock(address)}`, 600);

/** Clients that register themselves for sign-in. */
export const clientRegistrations = (address: string | undefined): RateWant =>
  requests(`registrations ${addressBlock(address)}`, 60);

/**
 * Refreshed tokens of one grant. A client needs one in an hour, several side by side some more; each is remembered for a
 * month, so that its reuse is noticed, and a client that refreshes in a loop would fill the store.
 */
export const tokenRefreshes = (grantId: string): RateWant => requests(`refreshes ${grantId}`, 20);

/** Documents of clients, fetched for one address. */
export const documentsFor = (address: string | undefined): RateWant =>
  requests(`documents for ${addressBlock(address)}`, 30);

/**
 * Documents of clients, fetched from one host for everybody. It spares the host; were it no more than what one address may
 * ask for, a single visitor could keep everybody else from signing in to the clients of that host.
 */
export const documentsFrom = (url: string): RateWant =>
  requests(`documents from ${URL.parse(url)?.host}`, 600);

/**
 * Contracts that are read or compared anew, which takes tens of milliseconds, for whoever shows no key. Tools compare two;
 * what was made before is given without counting.
 */
export const contractReadings = (address: string | undefined): readonly RateWant[] => [
  requests(`contract readings ${addressBlock(address)}`, 30),
  // Many addresses together must not take the time that calls need.
  requests("contract readings", 300),
];

/** Account pages shown to one key: more than anybody reads, and little work for whoever lets a program ask. */
const accountPagesMax = 60;

/** A file is the work of many pages; nobody needs more than a few in a minute. */
const pagesPerFile = 15;

export const accountPages = (keyId: string): RateWant => requests(`account pages ${keyId}`, accountPagesMax);

/** Counted together with the pages. */
export const accountFiles = (keyId: string): RateWant => ({ ...accountPages(keyId), amount: pagesPerFile });

const requests = (name: string, limit: number): RateWant => ({
  kind: "rate",
  of: "requests",
  name,
  amount: 1,
  limit,
});
