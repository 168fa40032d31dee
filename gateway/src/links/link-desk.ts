import type { LinkBegun } from "../operation/self-service.ts";
import type { Upstream } from "../operation/upstream.ts";
import { actAgain, actFor, type Acting, type ActRequest } from "./act-for.ts";
import { beginLink, type LinkRequest } from "./begin-link.ts";
import { confirmLink, showConfirmation, type Confirmed, type LinkQuestion } from "./confirm-link.ts";
import { endLink, undoLink, type EndedLink } from "./end-link.ts";
import { finishLink, type LinkOutcome } from "./finish-link.ts";
import type { LinkParts } from "./link-parts.ts";
import type { Link, LinkOwner } from "./links.ts";
import { createRenewals } from "./renew-link.ts";

/** Everything that can be done about linked accounts, for the doors and for the life of a call. */
export interface LinkDesk {
  readonly begin: (owner: LinkOwner, request: LinkRequest) => Promise<LinkBegun>;
  readonly show: (state: string, cookies: ReadonlyMap<string, string>) => Promise<LinkQuestion>;
  readonly confirm: (given: Parameters<typeof confirmLink>[0]) => Promise<Confirmed>;
  readonly finish: (
    parameters: URLSearchParams,
    cookies: ReadonlyMap<string, string>,
  ) => Promise<LinkOutcome>;
  readonly undo: (undoToken: string) => Promise<EndedLink | undefined>;

  readonly list: (of: {
    readonly accountId: string;
    readonly keyId?: string | undefined;
  }) => Promise<readonly Link[]>;
  readonly find: (linkId: string) => Promise<Link | undefined>;
  readonly end: (linkId: string) => Promise<EndedLink | undefined>;

  readonly actFor: (request: ActRequest) => Promise<Acting>;
  readonly actAgain: (acted: { readonly link: Link; readonly upstream: Upstream }) => Promise<Acting>;
}

export function createLinkDesk(parts: LinkParts): LinkDesk {
  const { renew, giveUp } = createRenewals(parts);
  const wholly = async (ending: Promise<EndedLink | undefined>): Promise<EndedLink | undefined> => {
    const ended = await ending;
    if (ended) await giveUp(ended.link);
    return ended;
  };
  return {
    begin: (owner, request) => beginLink(owner, request, parts),
    show: (state, cookies) => showConfirmation(state, cookies, parts),
    confirm: (given) => confirmLink(given, parts),
    finish: (parameters, cookies) => finishLink(parameters, cookies, parts),
    undo: (undoToken) => wholly(undoLink(undoToken, parts)),
    list: ({ accountId, keyId }) =>
      parts.book.list(keyId === undefined ? { accountId } : { accountId, keyId }),
    find: parts.book.find,
    end: (linkId) => wholly(endLink(linkId, parts)),
    actFor: (request) => actFor(request, renew, parts),
    actAgain: (acted) => actAgain(acted, renew, parts),
  };
}
