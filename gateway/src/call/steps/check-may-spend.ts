import type { Credential } from "../../keys/keys.ts";
import { changesFreely, type Operation } from "../../operation/operation.ts";
import { refuse } from "../../platform/refusals.ts";

/** What is free can still undo paid work or act for the account: whoever was allowed to read may not do it. */
export function checkMayChange(operation: Operation, caller: Credential): void {
  if (changesFreely(operation)) checkMaySpend(caller);
}

/** A key may spend by being a key; an access token only when the person who signed in said so. */
export function checkMaySpend({ grant }: Credential): void {
  if (!grant || grant.scopes.includes("tools:spend")) return;
  refuse(
    "insufficient_scope",
    "This access token may read, not spend or change anything; sign in again and allow tools:spend.",
    {
      inError: { required_scopes: ["tools:read", "tools:spend"] },
    },
  );
}
