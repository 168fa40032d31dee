import type { Addresses } from "../config/addresses.ts";
import type { Offer } from "../offer/offer.ts";
import { describeError, type Log } from "../platform/log.ts";
import { nextTurn } from "../platform/next-turn.ts";
import { refuse } from "../platform/refusals.ts";
import {
  createAccountContract,
  createContract,
  describeAhead,
  sha256,
  type Contract,
  type ContractInput,
} from "./create-contract.ts";
import type { PublicationBook, PublicationListing } from "./publications.ts";

interface Parts {
  /** What is on offer now; another one after each reload. */
  readonly offer: () => Offer;
  readonly addresses: Addresses;
  readonly book: PublicationBook;
  readonly wallMs: () => number;
  readonly log: Log;
}

/** `unknown` is a hash nobody was ever told here; `unavailable` is one whose bytes cannot be vouched for now. */
type Loaded = Contract | "unknown" | "unavailable";

/**
 * The contracts that can be fetched: today's and, by their hashes, those of earlier days. Bytes that were kept are compared
 * with their hash before they leave; today's had it taken of them when they were made, and have been in memory since.
 */
export interface ContractShelf {
  /** Today's contract. It is made, and kept for later days, when it is first asked for. */
  readonly current: () => Promise<Contract | undefined>;
  readonly account: () => Contract | undefined;
  readonly load: (contentHash: string) => Promise<Loaded>;
  /** What was current last comes first; today's contract is so now. */
  readonly history: (limit: number) => Promise<readonly PublicationListing[]>;
}

/** What whoever needs the contract is told while there are no bytes to vouch for. */
export const refuseWithoutContract = (): never =>
  refuse("contract_unavailable", "The contract's verified bytes are not available now.", {
    retryable: true,
  });

export function createContractShelf({ offer, addresses, book, wallMs, log }: Parts): ContractShelf {
  const make = <Made>(of: Offer, create: (from: ContractInput) => Made): Made | undefined => {
    try {
      return create({ offer: of, addresses });
    } catch (error) {
      // One declaration that cannot be described must not stop the gateway from serving it.
      log.error("the contract cannot be written", describeError(error));
      return undefined;
    }
  };

  const keep = async (contract: Contract): Promise<void> => {
    const { contentHash, docsRevision: revision, bytes } = contract;
    const nowMs = wallMs();
    const before = await book.latest("contract");
    await book.keep({ kind: "contract", contentHash, revision, publishedAtMs: nowMs, bytes });
    // What it takes the place of was current until a moment ago, however long before it was published.
    if (before && before.contentHash !== contentHash)
      await book.keep({ ...before, publishedAtMs: nowMs - 1 });
  };

  /** Told to callers, but not kept yet: whoever asks for one again has it tried again. */
  const unkept = new WeakSet<Contract>();

  const noteUnkept = (contract: Contract, error: unknown): void => {
    unkept.add(contract);
    log.error("the contract could not be kept for later", describeError(error));
  };

  const publish = async (of: Offer): Promise<Contract | undefined> => {
    // One operation at a time, so that calls go on in between: all at once would hold them up noticeably.
    for (const offered of of.operations.values()) {
      make(of, () => describeAhead(offered, of.names));
      await nextTurn();
    }
    const contract = make(of, createContract);
    if (contract) await keep(contract).catch((error: unknown) => noteUnkept(contract, error));
    return contract;
  };

  let published: { readonly of: Offer; readonly contract: Promise<Contract | undefined> } | undefined;
  let account: { readonly of: Offer; readonly contract: Contract | undefined } | undefined;

  const current = async (): Promise<Contract | undefined> => {
    const of = offer();
    if (published?.of !== of) published = { of, contract: publish(of) };
    const contract = await published.contract;
    if (contract && unkept.delete(contract))
      keep(contract).catch((error: unknown) => noteUnkept(contract, error));
    return contract;
  };

  return {
    current,
    account: () => {
      const of = offer();
      if (account?.of !== of) account = { of, contract: make(of, createAccountContract) };
      return account.contract;
    },
    load: async (contentHash) => {
      const today = await current();
      if (today?.contentHash === contentHash) return today;
      try {
        const kept = await book.find("contract", contentHash);
        // Without today's contract nobody can say that this is not its hash.
        if (!kept) return today ? "unknown" : "unavailable";
        const { revision: docsRevision, bytes } = kept;
        if (sha256(bytes) === contentHash) return { contentHash, docsRevision, bytes };
        log.error("a kept contract does not match its hash", { content_hash: contentHash });
        return "unavailable";
      } catch (error) {
        log.error("a kept contract could not be read", describeError(error));
        return "unavailable";
      }
    },
    history: async (limit) => {
      const today = await current();
      const kept = await book.list("contract", limit);
      return kept.map((one) =>
        one.contentHash === today?.contentHash ? { ...one, publishedAtMs: wallMs() } : one,
      );
    },
  };
}
