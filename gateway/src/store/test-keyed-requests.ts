// Every kind of request that an idempotency key can be used for, each asked of the port that takes it.

import { middayMs, type Caller, type TestBooks } from "../ledger/conformance/shared-conformance.ts";
import type { EarlierCall, HoldResult, IdempotencyClaim } from "../ledger/ledger.ts";
import type { Filed } from "../ledger/quota-applications.ts";
import { applicationOf } from "../ledger/conformance/test-application.ts";
import type { LinkBook } from "../links/links.ts";
import { attemptLifeMs, attemptOf } from "../links/test-link-attempt.ts";

interface KeyedRequest {
  readonly id: string;
  readonly claim: IdempotencyClaim;
  readonly atMs?: number;
}

type Answer = HoldResult | Filed | Awaited<ReturnType<LinkBook["begin"]>>;

export interface KeyedKind {
  readonly name: string;
  readonly ask: (books: TestBooks, caller: Caller, request: KeyedRequest) => Promise<Answer>;
  /** Brings what was asked for to its end; the moment from which its key is kept for a day. */
  readonly end: (books: TestBooks, request: KeyedRequest) => Promise<number>;
}

export const callKind: KeyedKind = {
  name: "a call",
  ask: (books, caller, { id, claim, atMs = middayMs }) =>
    books.hold(caller, { callId: id, idempotency: claim, atMs }),
  end: async (books, { id, atMs = middayMs }) => {
    await books.settle(id, { units: 70 }, { atMs: atMs + 1_000 });
    return atMs + 1_000;
  },
};

export const linkKind: KeyedKind = {
  name: "a link that is begun",
  ask: (books, caller, { id, claim, atMs = middayMs }) =>
    books
      .store()
      .links.begin(attemptOf(caller, `state of ${id}`, { id, createdAtMs: atMs, idempotency: claim })),
  end: async (books, { id, atMs = middayMs }) => {
    await books.store().links.takeAttempt(bytes(`state of ${id}`), atMs + 1_000);
    return atMs + attemptLifeMs;
  },
};

export const applicationKind: KeyedKind = {
  name: "an application",
  ask: (books, caller, { id, claim, atMs = middayMs }) =>
    books.store().quotas.file(applicationOf(caller, id, { createdAtMs: atMs, idempotency: claim })),
  end: async (books, { id, atMs = middayMs }) => {
    await books.store().quotas.deny(id, atMs + 1_000);
    return atMs;
  },
};

export const keyedKinds = [callKind, linkKind, applicationKind] as const;

/** Who has the key, for whoever did not get it; undefined for whoever did. */
export function earlierIn(answer: Answer): EarlierCall | undefined {
  if (answer.kind === "idempotency_conflict") return answer.earlier;
  if (answer.kind === "held" || answer.kind === "begun" || answer.kind === "filed") return undefined;
  throw new Error(`Nobody asked for ${answer.kind}.`);
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
