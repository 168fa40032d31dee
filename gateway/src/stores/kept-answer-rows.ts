import type { FoundKept } from "../routing/kept-answers.ts";

/** Whoever brings some ids takes this many more away that are past their time, so the table shrinks again after a flood. */
export const idsForgottenBeside = 8;

export const ownOf = ({ upstream }: { readonly upstream: string }): FoundKept => ({ isOwn: true, upstream });
export const others: FoundKept = { isOwn: false };
