import type { Approval } from "../../../approvals/approvals.ts";
import { rememberedMs } from "../sessions/answer-memory.ts";
import type { Visit } from "../visit.ts";

/** What a use or a batch happens once under, and for how long after its end; a day where it is not said. */
export interface Once {
  readonly name: string;
  readonly keptMs?: number | undefined;
}

/**
 * An approval that is brought, and is the one that counts, allows it once, in whichever request it comes. A request of a
 * session asks for it once; the approval that its person gives on the way is a new one whenever they are asked. Its books
 * forget it when its memory does: a client that resumes its session and counts from the start may ask for the same again.
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
 * The idempotency key of a call under it: when the same approval, state or request is played back, a video that was begun is
 * found again, and the calls of a batch that need no approval do not run again. In a batch a call is named by its place; one
 * that is alone by what it asks for, because whatever else comes with an approval is told that this is for something else.
 */
export const keyUnder = (
  { name, keptMs }: Once,
  call: number | string,
): { readonly idempotencyKey: string; readonly keyKeptMs: number | undefined } => ({
  idempotencyKey: `${name}/${call}`,
  keyKeptMs: keptMs,
});
