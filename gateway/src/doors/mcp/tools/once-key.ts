// Names under which a use or a batch happens only once, and the idempotency keys of its calls that are made of them.

import type { Approval } from "../../../approvals/approvals.ts";
import { hashIdempotencyKey } from "../../../ledger/idempotency-key.ts";
import { rememberedMs } from "../sessions/answer-memory.ts";
import type { ToolParts, Visit } from "../visit.ts";

export interface Once {
  readonly name: string;
  /** For how long after its end a call has its key; a day where it is not said. */
  readonly keptMs?: number | undefined;
}

/**
 * An approval that the agent brings, and that counts, is used once, whichever request brings it. Otherwise a request of a
 * session happens once; the approval that its person gives meanwhile cannot name it, because it is a new one each time they are
 * asked. The books forget such a request when the memory of answers does: a client that resumes its session and counts its
 * requests from the start may ask for the same again.
 */
export function onceOf(
  { approval_id: brought }: { readonly approval_id?: string | undefined },
  { onceAs }: Pick<Visit, "onceAs">,
  approval: Pick<Approval, "id"> | undefined,
): Once | undefined {
  const counts = approval === undefined || approval.id === brought;
  const name = (counts ? brought : undefined) ?? onceAs ?? approval?.id;
  return name === undefined ? undefined : { name, keptMs: name === onceAs ? rememberedMs : undefined };
}

/**
 * The idempotency key of one call. When the same approval, state or request comes again, a video that was begun is found, and
 * those calls of a batch that need no approval do not run again. In a batch a call is named by its place. A single call is named
 * by what it asks for, because any other call that brings its approval has to hear that it was given for something else.
 */
export const keyUnder = (
  { name, keptMs }: Once,
  call: number | string,
): { readonly idempotencyKey: string; readonly keyKeptMs: number | undefined } => ({
  idempotencyKey: `${name}/${call}`,
  keyKeptMs: keptMs,
});

/**
 * Whether any call of a batch ran under this name. The keys are looked up, because a call that needed no approval has no item of
 * one. A call that brought an idempotency key of its own ran under that, and is not bought again anyway.
 */
export async function hasRunBefore(
  once: Once,
  callCount: number,
  { caller: { accountId } }: Visit,
  { gate: { ledger, clock } }: ToolParts,
): Promise<boolean> {
  for (let index = 0; index < callCount; index++) {
    const { idempotencyKey: key, keyKeptMs: keptMs } = keyUnder(once, index);
    const claim = { keyHash: hashIdempotencyKey(key), fingerprint: anyRequest, keptMs };
    if (await ledger.findEarlier(accountId, claim, clock.wallMs())) return true;
  }
  return false;
}

/** For whoever asks only whether a key is taken. */
const anyRequest = new Uint8Array();
