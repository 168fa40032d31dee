import type { Approval } from "../../../approvals/approvals.ts";
import type { Visit } from "../visit.ts";

/**
 * What a use or a batch happens once under. An approval that is brought allows it once, in whichever request it comes. A
 * request of a session asks for it once; the approval that its person gives on the way is a new one whenever they are asked.
 */
export const onceName = (
  given: { readonly approval_id?: string | undefined },
  { onceAs }: Pick<Visit, "onceAs">,
  approval: Pick<Approval, "id"> | undefined,
): string | undefined => given.approval_id ?? onceAs ?? approval?.id;

/**
 * The idempotency key of one call of a batch: those that need no approval would otherwise run again when the same approval,
 * state or request is played back.
 */
export const keyUnder = (once: string, index: number): string => `${once}/${index}`;
