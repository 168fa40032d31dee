import type {
  ElicitResult,
  InputRequest,
  InputRequiredResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { AskedState } from "./request-state.ts";
import type { ToolParts, Visit } from "../visit.ts";

/**
 * A person who has not answered by then is not at the screen, whatever progress their client tells of; the question stays
 * open at its address for longer.
 */
const personWaitMs = 10 * 60_000;

/**
 * Puts a tool's question to the person behind a session, whose client cannot carry it there and back itself, and says with
 * what the tool is to be asked again. The protocol's library would do the same, but fails the tool in words of its own where
 * no answer comes. Some clients say that they can ask and cannot; with that nothing is decided, as with a form that is closed,
 * or with one that is not shown because too much of the account waits already.
 */
export async function askInSession(
  { inputRequests = {}, requestState = "" }: InputRequiredResult,
  { ctx, caller: { accountId }, messageBytes }: Visit,
  { waiting, newSecretId }: Pick<ToolParts, "waiting" | "newSecretId">,
): Promise<ServerContext> {
  const { id, signal, send } = ctx.mcpReq;
  const options = { relatedRequestId: id, timeout: personWaitMs, signal };
  const ask = ({ method, params }: InputRequest): Promise<object> =>
    // Where a page is to be opened, the older revisions want a name for that; the newest has none.
    send(
      { method, params: { ...params, ...(isPage(params) ? { elicitationId: newSecretId() } : {}) } },
      options,
    ).catch(() => undecided);

  const inputResponses: Record<string, object> = {};
  for (const [name, question] of Object.entries(inputRequests)) {
    const answer = await waiting.wait({ accountId, messageBytes }, () => ask(question));
    inputResponses[name] = answer ?? undecided;
  }
  // Written by `askApproval` a moment ago, and it never left the process.
  const state = JSON.parse(requestState) as AskedState;
  // Whoever reads it says what it is, and there is no other state.
  const readState = <State>(): State => state as State;
  return { ...ctx, mcpReq: { ...ctx.mcpReq, inputResponses, requestState: readState } };
}

const isPage = (params: InputRequest["params"]): boolean => params !== undefined && "url" in params;

const undecided: ElicitResult = { action: "cancel" };
