import type { Approval } from "../../../approvals/approvals.ts";
import type { Visit } from "../visit.ts";

/**
 * What a use or a batch happens once under. An approval that is brought, and is the one that counts, allows it once, in
 * whichever request it comes. A
 * request of a session asks for it once; the approval that its person gives on the way is a new one whenever they are asked.
 */
export function onceName(
  { approval_id: brought }: { readonly approval_id?: string | undefined },
  { onceAs }: Pick<Visit, "onceAs">,
  approval: Pick<Approval, "id"> | undefined,
): string | undefined {
  const counts = approval === undefined || approval.id === brought;
  return (counts ? brought : undefined) ?? onceAs ?? approval?.id;
}

/**
 * The idempotency key of a call under it: when the same approval, state or request is played back, a video that was begun is
 * found again, and the calls of a batch that need no approval do not run again. In a batch a call is named by its place; one
 * that is alone by what it asks for, because whatever else comes with an approval is told that this is for something else.
 */
export const keyUnder = (once: string, call: number | string): string => `${once}/${call}`;
