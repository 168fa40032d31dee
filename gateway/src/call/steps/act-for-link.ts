import type { Acting } from "../../links/act-for.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import type { CallPrice } from "../call-price.ts";
import type { Gate } from "../gate.ts";
import type { ValidCall } from "../valid-call.ts";

/**
 * In whose name the call is made, for operations that act for a linked account. A refusal is only found here; it is
 * told when nothing else speaks against the call. A quote needs no account.
 */
export async function actForLink(
  { scopes }: NonNullable<SoldOperation["link"]>,
  { caller: { keyId }, wishes: { quote } }: ValidCall,
  { upstreams }: CallPrice,
  gate: Gate,
): Promise<Acting | undefined> {
  return quote ? undefined : gate.links.actFor({ keyId, upstreams, scopes });
}
