import { TooManyGuesses, type FoundCredential } from "../../keys/credentials.ts";
import type { Credential } from "../../keys/keys.ts";
import { toldOfLimit } from "../../limits/hit-limit.ts";
import { refuse } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";

/** Who is calling. Runs before the route is looked up, so an unknown path tells a stranger nothing. */
export function authenticate(call: Call, gate: Gate): Credential | Promise<Credential> {
  const { presented } = call;
  if (presented.kind === "none" && isHidden(call)) refuse("unknown_endpoint", "api endpoint not found");
  return checkCredential(call, gate);
}

/**
 * The same, once the body is there, which may take a minute to come: by then a key may be revoked or its budget changed,
 * and whoever was let in long ago spends by what is true now. How long ago is measured by the clock that nobody sets.
 */
export function authenticateAgain(
  call: Call,
  caller: Credential,
  begunAtMs: number,
  gate: Gate,
): Credential | Promise<Credential> {
  const { clock } = gate;
  if (clock.monotonicMs() - begunAtMs < trustedMs) return caller;
  const { presented } = call;
  return checkCredential({ presented, receivedAtMs: clock.wallMs(), address: () => call.address() }, gate);
}

/** A revoked key must stop within 5 s; what was looked up for it may be some seconds old already. */
const trustedMs = 2_000;

/** Whoever wants in: what they show, when they came, and where from. */
type Newcomer = Pick<Call, "presented" | "receivedAtMs" | "address">;

/** A live credential behind what was presented, or a refusal. Nobody waits for a key that was looked up just now. */
export function checkCredential(newcomer: Newcomer, gate: Gate): Credential | Promise<Credential> {
  const { presented, receivedAtMs } = newcomer;
  if (presented.kind === "none") {
    const { why = "No API key was sent. Send it as: Authorization: Bearer <key>" } = presented;
    refuse("missing_api_key", why);
  }
  if (presented.kind === "malformed") refuse("invalid_api_key", presented.why);
  const found = find(presented.value, newcomer, gate);
  return found instanceof Promise ? checkLater(found, receivedAtMs) : checkLive(found, receivedAtMs);
}

const checkLater = async (finding: Promise<FoundCredential>, nowMs: number): Promise<Credential> =>
  checkLive(await finding, nowMs);

function checkLive(credential: FoundCredential, nowMs: number): Credential {
  if (credential instanceof TooManyGuesses) return refuseGuesses(credential, nowMs);
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

function refuseGuesses({ limit, retryInMs }: TooManyGuesses, nowMs: number): never {
  return refuse(
    "rate_limit_exceeded",
    "Too many unknown API keys came from your address; check yours, and try again in a minute.",
    toldOfLimit({ name: "unknown_keys", limit, retryInMs }, nowMs),
  );
}

const isHidden = ({ offer, method, path }: Call): boolean =>
  offer.routes.find(method, path)?.offered.operation.hidden === true;

function find(presented: string, newcomer: Newcomer, gate: Gate): FoundCredential | Promise<FoundCredential> {
  try {
    const found = gate.credentials.find(presented, newcomer);
    return found instanceof Promise ? orUnavailable(found, gate) : found;
  } catch (error) {
    return unavailable(error, gate);
  }
}

const orUnavailable = (finding: Promise<FoundCredential>, gate: Gate): Promise<FoundCredential> =>
  finding.catch((error: unknown) => unavailable(error, gate));

function unavailable(error: unknown, gate: Gate): never {
  gate.storeNews.failed("keys could not be looked up", error);
  return refuse("authentication_unavailable", "Keys cannot be checked right now; try again.", {
    retryable: true,
    retryAfterSeconds: 1,
  });
}
