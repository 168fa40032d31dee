import type { GoesOn, Reference } from "../../operation/goes-on.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import type { Upstream } from "../../operation/upstream.ts";
import { refuse } from "../../platform/refusals.ts";
import { hashKeptId } from "../../routing/kept-answers.ts";
import { jsonAnswer, type Answer } from "../call.ts";
import type { CallPrice } from "../call-price.ts";
import type { Gate } from "../gate.ts";
import { readBooks } from "../read-books.ts";
import type { ValidCall } from "../valid-call.ts";

/** More than a response has items. Each is looked up, before anything is paid for. */
const referencesMax = 1_000;

/** Which upstreams can go on with it; or, where it is not the caller's, what a call that is otherwise right is answered with. */
type FoundKeepers =
  | { readonly kind: "found"; readonly upstreams: readonly Upstream[] }
  | { readonly kind: "not_found"; readonly answer: () => Answer };

/**
 * A call may go on with what its vendor has kept. All accounts come to the vendor with the operator's key, so it would let
 * each of them read what it has of the others: therefore it is looked up here whose it is, and who keeps it. Nobody waits for
 * a call that brings everything along. An id that nobody got here may be older than these records, or the operator's own; its
 * vendor knows.
 */
export function findKept(
  valid: ValidCall<SoldOperation>,
  price: CallPrice,
  gate: Gate,
): Promise<FoundKeepers> | undefined {
  const { goesOn } = valid.operation;
  // A quote is the same, whatever the call goes on with.
  if (!goesOn || valid.wishes.quote) return undefined;
  const references = goesOn.refersTo(valid.input);
  if (references.length > referencesMax) {
    refuse("invalid_parameters", `no more than ${referencesMax} kept items can be named`, { field: "input" });
  }
  return references.length === 0 ? undefined : lookUp(references, goesOn, valid, price, gate);
}

async function lookUp(
  references: readonly Reference[],
  { notFound }: Pick<GoesOn<never>, "notFound">,
  { call, caller }: ValidCall<SoldOperation>,
  { upstreams }: CallPrice,
  gate: Gate,
): Promise<FoundKeepers> {
  const hashes = references.map(({ id }) => hashKeptId(id));
  const looking = gate.keptAnswers.find(caller.accountId, hashes, call.receivedAtMs);
  const found = await readBooks(looking, call, gate);
  const foreign = references.find((_, at) => found[at]?.isOwn === false);
  if (foreign) {
    const answer = (): Answer => {
      // As if the vendor had been asked for what it never had, down to the headers.
      call.known.chargedMicros = 0n;
      call.known.servedBySandbox = upstreams[0]?.sandbox;
      const { status, json } = notFound(foreign, call.id);
      return jsonAnswer(status, json);
    };
    return { kind: "not_found", answer };
  }
  const keepers = found.map((kept) =>
    kept?.isOwn === true ? upstreams.find(({ name }) => name === kept.upstream) : undefined,
  );
  // Nobody else has it, so nobody else is asked, whatever becomes of it there.
  const keeper = keepers.find((upstream) => upstream !== undefined);
  return { kind: "found", upstreams: keeper ? [keeper] : upstreams };
}
