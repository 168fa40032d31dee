import type { AuthInfo, ImageContent, McpServer, ServerContext } from "@modelcontextprotocol/server";
import type { ApprovalBook } from "../../approvals/approvals.ts";
import type { Known, PresentedKey } from "../../call/call.ts";
import type { Gate } from "../../call/gate.ts";
import type { McpConfig } from "../../config/mcp-config.ts";
import { resourceMetadataUrl } from "../../grants/challenge.ts";
import { grantScopes } from "../../grants/grants.ts";
import type { Credential } from "../../keys/keys.ts";
import type { CallBook } from "../../ledger/call-book.ts";
import type { Offer } from "../../offer/offer.ts";
import type { CallRefused } from "../../platform/refusals.ts";
import type { BodyReader } from "../wire/read-body.ts";
import type { AnswerMemory } from "./sessions/answer-memory.ts";
import type { SearchIndex } from "./search/search-index.ts";
import type { RequestStates } from "./approval/request-state.ts";
import type { WaitingRoom } from "./approval/waiting-room.ts";

/** What the tools are made of. */
export interface ToolParts {
  readonly gate: Gate;
  readonly approvals: ApprovalBook;
  readonly calls: Pick<CallBook, "find">;
  readonly settings: () => McpConfig;
  readonly offer: () => Offer;
  readonly index: (offer: Offer) => SearchIndex;
  readonly states: RequestStates;
  readonly memory: AnswerMemory;
  readonly waiting: WaitingRoom;
  readonly bodies: Pick<BodyReader, "keepRoom">;
  readonly newId: () => string;
  /** An id that nobody can guess, for sessions and approvals. */
  readonly newSecretId: () => string;
  readonly approvalPage: (approvalId: string) => string;
}

/** Who came, as the door knows them. */
interface Guest {
  readonly caller: Credential;
  /**
   * What the request was counted as at the door: the first call made of it does not count again. How the limit on
   * requests stands is told with the answer, so the calls write it down there.
   */
  readonly known: Known;
  /** Set when the key has asked too often: the tool only says so. */
  readonly limited: CallRefused | undefined;
  /** How long the message was that they sent, which is in memory until it is answered. */
  readonly messageBytes: number;
}

/** One use of a tool: who asks, with what credential, against which offer, and how their person can be reached. */
export interface Visit extends Guest {
  readonly presented: PresentedKey;
  readonly offer: Offer;
  readonly ctx: ServerContext;
  /** What the message shows beside its JSON; the calls that are made add theirs. */
  readonly images: ImageContent[];
  readonly canAsk: "form" | "url" | "no";
  /** Names the request of a session, so that the books let its repetition at another process buy nothing. */
  readonly onceAs: string | undefined;
}

/** How the door tells the protocol library who came. A key may do everything; a token what its grant says. */
export function introduce(guest: Guest, presented: string, mcpUrl: string): AuthInfo {
  const { caller } = guest;
  return {
    token: presented,
    clientId: principalOf(caller),
    scopes: [...(caller.grant?.scopes ?? grantScopes)],
    resourceMetadataUrl: resourceMetadataUrl(mcpUrl),
    extra: { guest },
  };
}

/**
 * A session and a sealed state belong to exactly one of these. A client that was let in once more is the same one: told to ask
 * for more than it was allowed, it signs its person in anew, and goes on in the session that it has.
 */
const principalOf = ({ accountId, keyId, grant }: Credential): string =>
  [accountId, keyId, grant?.clientId ?? ""].join(" ");

export const callerOf = (introduced: AuthInfo): Credential => guestOf(introduced).caller;

/** Put there by `introduce`, which is the only way in. */
const guestOf = ({ extra }: AuthInfo): Guest => extra?.["guest"] as Guest;

export function visitOf(ctx: ServerContext, server: McpServer, offer: Offer): Omit<Visit, "onceAs"> {
  const introduced = ctx.http?.authInfo;
  if (!introduced) throw new Error("A tool was asked for by nobody.");
  return {
    ...guestOf(introduced),
    presented: { kind: "key", value: introduced.token },
    offer,
    ctx,
    images: [],
    canAsk: askedHow(server),
  };
}

/** In both eras: what the client declared with this request, or when it opened its session. */
function askedHow(server: McpServer): Visit["canAsk"] {
  const elicitation = server.server.getClientCapabilities()?.elicitation;
  if (!elicitation) return "no";
  // A client that names no mode means forms: there was nothing else when the capability was made.
  if (elicitation.form || !elicitation.url) return "form";
  return "url";
}
