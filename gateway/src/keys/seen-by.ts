// What a key shows its holder of the books: its own, or all of its account. A token granted with a key shows the same.

import type { UsageScope } from "../usage/usage-report.ts";
import type { KeyScope } from "./keys.ts";

interface Viewer {
  readonly accountId: string;
  readonly keyId: string;
  readonly scope: KeyScope;
}

export const seesAccount = ({ scope }: Pick<Viewer, "scope">): boolean => scope === "account";

/** The part of the books to look in. */
export const seenBy = ({ accountId, keyId, scope }: Viewer): UsageScope => ({
  accountId,
  keyId: seesAccount({ scope }) ? undefined : keyId,
});

/** Whether something that belongs to a key is theirs to see. */
export const sees = (
  viewer: Viewer,
  thing: { readonly accountId: string; readonly keyId: string },
): boolean => thing.accountId === viewer.accountId && (seesAccount(viewer) || thing.keyId === viewer.keyId);
