import { middayMs } from "../ledger/conformance/shared-conformance.ts";
import type { LinkOwner, NewLinkAttempt } from "./links.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** How long a link that was begun waits for somebody to agree. */
export const attemptLifeMs = 600_000;

/** A link that is begun, for tests: known by the state it is begun with, and good for ten minutes. */
export function attemptOf(
  { accountId, keyId }: LinkOwner,
  state: string,
  changed: Partial<NewLinkAttempt> = {},
): NewLinkAttempt {
  const { createdAtMs = middayMs } = changed;
  return {
    id: `attempt ${state}`,
    stateHash: bytes(state),
    accountId,
    keyId,
    upstream: "platform",
    scopes: ["users.read"],
    salt: bytes("salt"),
    verifier: bytes("verifier"),
    confirm: false,
    createdAtMs,
    expiresAtMs: createdAtMs + attemptLifeMs,
    idempotency: undefined,
    ...changed,
  };
}
