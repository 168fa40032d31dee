import type { Credential } from "../../keys/keys.ts";
import type { Acting } from "../../links/act-for.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import type { Gate } from "../gate.ts";
import type { PricedCall } from "./price-call.ts";
import type { Wishes } from "./wishes.ts";

/**
 * In whose name the call is made, for operations that act for a linked account. A refusal is only found here; it is
 * told when nothing else speaks against the call. A quote needs no account.
 */
export async function actForLink(
  { scopes }: NonNullable<SoldOperation["link"]>,
  { upstreams }: PricedCall,
  { keyId }: Credential,
  { quote }: Wishes,
  gate: Gate,
): Promise<Acting | undefined> {
  return quote ? undefined : gate.links.actFor({ keyId, upstreams, scopes });
}
