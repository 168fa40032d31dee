import type { Credential } from "../keys/keys.ts";
import { describeError } from "../platform/log.ts";
import { refuse } from "../platform/refusals.ts";
import type { Call, PresentedKey } from "./call.ts";
import type { Gate } from "./gate.ts";

/** Who is calling. Runs before the route is looked up, so an unknown path tells a stranger nothing. */
export async function authenticate(call: Call, gate: Gate): Promise<Credential> {
  const { presented } = call;
  if (presented.kind === "none" && isHidden(call)) refuse("unknown_endpoint", "api endpoint not found");
  return checkCredential(presented, call.receivedAtMs, gate);
}

/** A live credential behind what was presented, or a refusal. */
export async function checkCredential(
  presented: PresentedKey,
  nowMs: number,
  gate: Gate,
): Promise<Credential> {
  if (presented.kind === "none") {
    refuse("missing_api_key", "No API key was sent. Send it as: Authorization: Bearer <key>");
  }
  if (presented.kind === "malformed") refuse("invalid_api_key", presented.why);
  const credential = await find(presented.value, gate);
  // Unknown and revoked look the same: what existed once is nobody's business.
  if (!credential || credential.revoked) refuse("invalid_api_key", "This API key is not valid.");
  if (credential.expiresAtMs !== undefined && credential.expiresAtMs <= nowMs) {
    refuse("expired_api_key", "This API key has expired.");
  }
  if (credential.grant?.scopes.length === 0) {
    refuse(
      "insufficient_scope",
      "This access token allows nothing here; sign in again and allow tools:read.",
    );
  }
  return credential;
}

const isHidden = ({ offer, method, path }: Call): boolean =>
  offer.routes.find(method, path)?.offered.operation.hidden === true;

async function find(presented: string, gate: Gate): Promise<Credential | undefined> {
  try {
    return await gate.credentials.find(presented);
  } catch (error) {
    gate.log.error("authentication store failed", describeError(error));
    return refuse("authentication_unavailable", "Keys cannot be checked right now; try again.", {
      inError: { retryable: true },
      retryAfterSeconds: 1,
    });
  }
}
