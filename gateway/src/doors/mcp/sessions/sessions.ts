import {
  isInitializeRequest,
  isJSONRPCRequest,
  type AuthInfo,
  type McpServer,
} from "@modelcontextprotocol/server";
import { describeError, type Log } from "../../../platform/log.ts";
import { isJsonObject, objectOrEmpty } from "../../../platform/json.ts";
import { protocolError } from "../protocol-error.ts";
import { callerOf } from "../visit.ts";
import { notARequest, wronglyIntroduced } from "./introduction.ts";
import { createOpenSessions, type Session } from "./open-sessions.ts";
import { createSessionOpener, noRoom, type OrTell, type FindSession } from "./session-opener.ts";
import { extendEveryMs, type SessionRecords } from "./session-records.ts";
import { takingEvents } from "./taking-events.ts";

interface Parts {
  readonly createServer: () => McpServer;
  readonly newSessionId: () => string;
  readonly records: SessionRecords;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/**
 * Clients of the older revisions open a session first. An id alone opens nothing: it is bound to who made it. A session
 * that was opened in another process, or before this one started, is opened here once more when it is first asked for.
 */
export interface Sessions {
  readonly answer: (request: Request, body: unknown, introduced: AuthInfo) => Promise<Response>;
  readonly count: () => number;
  readonly endListening: () => void;
}

export function createSessions({ createServer, newSessionId, records, monotonicMs, log }: Parts): Sessions {
  /** A session whose record cannot be written is a session of this process alone; its client need not care. */
  const orTell: OrTell = (writing) =>
    writing.catch((error: unknown) => {
      log.warn("an agent's session could not be kept", describeError(error));
      return undefined;
    });
  const sessions = createOpenSessions({ monotonicMs, onEnded: (id) => orTell(records.forget(id)) });

  /** False when it was ended at another process, with which it ends here too. */
  const noteUse = async (id: string, session: Session): Promise<boolean> => {
    session.usedAtMs = monotonicMs();
    if (session.usedAtMs - session.extendedAtMs < extendEveryMs) return true;
    session.extendedAtMs = session.usedAtMs;
    const hasEnded = (await orTell(records.extend(id))) === false;
    if (hasEnded) sessions.drop(id);
    return !hasEnded;
  };

  /** A client that signed its person in once more goes on, also when the grant is ended that it came with before. */
  const goOnUnder = async (introduced: AuthInfo, id: string, session: Session): Promise<void> => {
    const grantId = callerOf(introduced).grant?.id;
    if (session.grantId === grantId) return;
    const isMoved = await orTell(records.moveTo({ id, principal: session.principal, grantId }));
    if (isMoved === true) session.grantId = grantId;
  };

  const opener = createSessionOpener({
    createServer,
    newSessionId,
    records,
    sessions,
    orTell,
    noteUse,
    monotonicMs,
  });

  /** Sessions that are being reopened, so that two requests at once come to the same one. */
  const reopening = new Map<string, ReturnType<FindSession>>();
  const find: FindSession = async (id, url, introduced) => {
    const asked = JSON.stringify([introduced.clientId, id]);
    const earlier = reopening.get(asked);
    if (earlier) return earlier;
    const session = sessions.find(id);
    // A session of somebody else looks like none at all.
    if (session) return session.principal === introduced.clientId ? session : undefined;
    const opening = opener.reopen(id, url, introduced).finally(() => reopening.delete(asked));
    reopening.set(asked, opening);
    return opening;
  };

  return {
    count: sessions.count,
    endListening: sessions.endListening,
    answer: async (sent, body, introduced) => {
      const request = takingEvents(sent);
      const id = request.headers.get("mcp-session-id");
      if (id === null) {
        if (!isJsonObject(body) || body["method"] !== "initialize") return notOpened(request.method);
        if (!isJSONRPCRequest(body)) return notARequest();
        return isInitializeRequest(body) ? opener.open(request, body, introduced) : wronglyIntroduced(body);
      }
      const session = await find(id, request.url, introduced);
      if (session === "no_room") return noRoom();
      if (!session || !(await noteUse(id, session))) return protocolError(404, -32001, "Session not found");
      await goOnUnder(introduced, id, session);
      const { transport, running } = session;
      const handle = (): Promise<Response> =>
        transport.handleRequest(request, {
          ...(body === undefined ? {} : { parsedBody: body }),
          authInfo: introduced,
        });
      const answered = await running.answer(body, handle);
      const response = isListeningTwice(request, answered) ? await listenAnew(transport, handle) : answered;
      const cancelled = cancelledIn(body);
      if (cancelled !== undefined) await forgetRequest(transport, cancelled);
      return response;
    },
  };
}

/** The library lets one stream listen for a session's news, and refuses a second one. */
const isListeningTwice = ({ method }: Request, { status }: Response): boolean =>
  method === "GET" && status === 409;

/**
 * Who listens again has lost the stream from before, which a sleeping machine or a proxy may have left open here: until that
 * is noticed, many minutes later, their client would take the whole server for failed.
 */
function listenAnew(transport: Session["transport"], handle: () => Promise<Response>): Promise<Response> {
  transport.closeStandaloneSSEStream();
  return handle();
}

/**
 * The library answers no request that was cancelled: it would leave its stream open and remember its id for as long as the
 * session lives. An answer whose stream is closed reaches nobody, and ends both.
 */
async function forgetRequest(transport: Session["transport"], id: string | number): Promise<void> {
  transport.closeSSEStream(id);
  const error = { code: -32000, message: "Cancelled" };
  // One that it does not know, or not any more, it refuses to answer.
  await transport.send({ jsonrpc: "2.0", id, error }).catch(() => {});
}

/** The id of the request that its client wants no answer to any more. */
function cancelledIn(message: unknown): string | number | undefined {
  if (!isJsonObject(message) || message["method"] !== "notifications/cancelled") return undefined;
  const { params } = message;
  const id = objectOrEmpty(params)["requestId"];
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

const notOpened = (method: string): Response =>
  method === "POST"
    ? protocolError(400, -32000, "Bad Request: Mcp-Session-Id header is required; initialize first.")
    : protocolError(405, -32000, "Method not allowed without a session.", { allow: "POST" });
