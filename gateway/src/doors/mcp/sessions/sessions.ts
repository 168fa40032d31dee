import {
  isInitializeRequest,
  isJSONRPCRequest,
  specTypeSchemas,
  WebStandardStreamableHTTPServerTransport,
  type AuthInfo,
  type InitializeRequest,
  type McpServer,
  type ProgressToken,
} from "@modelcontextprotocol/server";
import { describeError, type Log } from "../../../platform/log.ts";
import { isJsonObject } from "../../../platform/json.ts";
import { createOpenSessions, type OpenSessions, type Session } from "./open-sessions.ts";
import { beginProgress } from "./progress.ts";
import { protocolError } from "../protocol-error.ts";
import { createRunningRequests } from "./running-requests.ts";
import { extendEveryMs, type Introduction, type SessionRecords } from "./session-records.ts";
import { toolNames } from "../tools/tools.ts";
import { callerOf } from "../visit.ts";

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

/** A session keeps what its client says about itself as long as it lives; a few hundred characters are usual. */
const introductionCharactersMax = 16 * 1024;

export function createSessions({ createServer, newSessionId, records, monotonicMs, log }: Parts): Sessions {
  /** A session whose record cannot be written is a session of this process alone; its client need not care. */
  const orTell = <Told>(writing: Promise<Told>): Promise<Told | undefined> =>
    writing.catch((error: unknown) => {
      log.warn("an agent's session could not be kept", describeError(error));
      return undefined;
    });

  const sessions = createOpenSessions({ monotonicMs, onEnded: (id) => orTell(records.forget(id)) });
  /** Sessions that are being reopened, so that two requests at once come to the same one. */
  const reopening = new Map<string, Promise<Session | "no_room" | undefined>>();

  /** Opens a session under an id; answers with what its client is told. */
  const initialize = async (
    request: Request,
    introduced: AuthInfo,
    body: InitializeRequest,
    id: string,
  ): Promise<{ readonly response: Response; readonly isOpen: boolean } | "no_room"> => {
    const owner = { principal: introduced.clientId, accountId: callerOf(introduced).accountId };
    const othersEnded = sessions.makeRoom(id, owner);
    if (!othersEnded) return "no_room";
    const { running, server, transport } = add(id, owner);
    try {
      const response = await running.answer(body, async () => {
        await server.connect(transport);
        return transport.handleRequest(request, { parsedBody: body, authInfo: introduced });
      });
      await othersEnded;
      return { response, isOpen: transport.sessionId !== undefined };
    } finally {
      if (transport.sessionId === undefined) {
        sessions.remove(id);
        await server.close();
      }
    }
  };

  const add = (id: string, owner: Pick<Session, "principal" | "accountId">): Session => {
    const nowMs = monotonicMs();
    const session: Session = {
      ...owner,
      server: createServer(),
      transport: createTransport(id, sessions, records),
      running: createRunningRequests((requestId, message) => {
        const endProgress = beginProgress(progressTokenIn(message), (progress) =>
          session.server.server.notification(progress, { relatedRequestId: requestId }),
        );
        return () => {
          endProgress();
          noteUse(id, session).catch(() => {});
        };
      }),
      usedAtMs: nowMs,
      extendedAtMs: nowMs,
    };
    sessions.add(id, session);
    return session;
  };

  const open = async (request: Request, body: InitializeRequest, introduced: AuthInfo): Promise<Response> => {
    const introduction = usedParams(body);
    if (JSON.stringify(introduction).length > introductionCharactersMax) return introducedTooLong();
    const said = { ...body, params: introduction };
    const id = newSessionId();
    const opened = await initialize(request, introduced, said, id);
    if (opened === "no_room") return noRoom();
    if (opened.isOpen) {
      const principal = introduced.clientId;
      const grantId = callerOf(introduced).grant?.id;
      // Before the client hears of it: its next request may come to another process.
      const isKept = await orTell(records.keep({ id, principal, grantId, introduction }));
      const session = sessions.find(id);
      if (session && isKept !== true) session.extendedAtMs = Number.POSITIVE_INFINITY;
    }
    return opened.response;
  };

  /** Says for the client once more what it said when it opened the session. */
  const reopen = async (
    id: string,
    url: string,
    introduced: AuthInfo,
  ): Promise<Session | "no_room" | undefined> => {
    const introduction = await records.find({ id, principal: introduced.clientId });
    // Its use here is news to the store. One that is being ended, so that another has room, must take no room again.
    if (!introduction || (await orTell(records.extend(id))) === false) return undefined;
    const request = new Request(url, { method: "POST", headers: asClientsSend });
    const opened = await initialize(request, introduced, initializeRequest(introduction), id);
    if (opened === "no_room") return opened;
    await opened.response.text();
    return sessions.find(id);
  };

  const find = async (
    id: string,
    url: string,
    introduced: AuthInfo,
  ): Promise<Session | "no_room" | undefined> => {
    const asked = JSON.stringify([introduced.clientId, id]);
    const earlier = reopening.get(asked);
    if (earlier) return earlier;
    const session = sessions.find(id);
    // A session of somebody else looks like none at all.
    if (session) return session.principal === introduced.clientId ? session : undefined;
    const opening = reopen(id, url, introduced).finally(() => reopening.delete(asked));
    reopening.set(asked, opening);
    return opening;
  };

  /** False when it was ended at another process, with which it ends here too. */
  const noteUse = async (id: string, session: Session): Promise<boolean> => {
    session.usedAtMs = monotonicMs();
    if (session.usedAtMs - session.extendedAtMs < extendEveryMs) return true;
    session.extendedAtMs = session.usedAtMs;
    const hasEnded = (await orTell(records.extend(id))) === false;
    if (hasEnded) sessions.drop(id);
    return !hasEnded;
  };

  return {
    count: sessions.count,
    endListening: sessions.endListening,
    answer: async (request, body, introduced) => {
      const id = request.headers.get("mcp-session-id");
      if (id === null) {
        if (!isJsonObject(body) || body["method"] !== "initialize") return notOpened(request.method);
        if (!isJSONRPCRequest(body)) return notARequest();
        return isInitializeRequest(body) ? open(request, body, introduced) : wronglyIntroduced(body);
      }
      const session = await find(id, request.url, introduced);
      if (session === "no_room") return noRoom();
      if (!session || !(await noteUse(id, session))) return protocolError(404, -32001, "Session not found");
      const { transport, running } = session;
      const response = await running.answer(body, () =>
        transport.handleRequest(request, {
          ...(body === undefined ? {} : { parsedBody: body }),
          authInfo: introduced,
        }),
      );
      // The library answers no request that was cancelled, and would leave its stream open for ever.
      const cancelled = cancelledIn(body);
      if (cancelled !== undefined) transport.closeSSEStream(cancelled);
      return response;
    },
  };
}

/** A function of its own, because what its closures can see lives as long as the session, and the first request must not. */
const createTransport = (
  id: string,
  sessions: OpenSessions,
  records: SessionRecords,
): WebStandardStreamableHTTPServerTransport =>
  new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => id,
    onsessionclosed: () => {
      sessions.remove(id);
      return records.forget(id);
    },
  });

/** The token under which a client wants to hear of progress. Tools that are not ours tell it themselves. */
function progressTokenIn(message: unknown): ProgressToken | undefined {
  const { params } = isJsonObject(message) ? message : {};
  const { name, _meta: meta } = isJsonObject(params) ? params : {};
  const { progressToken: token } = isJsonObject(meta) ? meta : {};
  const isOurs = toolNames.some((one) => one === name);
  return isOurs && (typeof token === "string" || typeof token === "number") ? token : undefined;
}

/** The id of the request that its client wants no answer to any more. */
function cancelledIn(message: unknown): string | number | undefined {
  if (!isJsonObject(message) || message["method"] !== "notifications/cancelled") return undefined;
  const { params } = message;
  const id = isJsonObject(params) ? params["requestId"] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

const notOpened = (method: string): Response =>
  method === "POST"
    ? protocolError(400, -32000, "Bad Request: Mcp-Session-Id header is required; initialize first.")
    : protocolError(405, -32000, "Method not allowed without a session.", { allow: "POST" });

/** A message without an id gets no answer, so its client would never hear which session was opened. */
const notARequest = (): Response =>
  protocolError(400, -32600, "Invalid Request: initialize must be a JSON-RPC 2.0 request with an id");

/** Names the first of its members that is missing or wrong. */
function wronglyIntroduced(message: object): Response {
  const { issues = [] } = specTypeSchemas.InitializeRequest["~standard"].validate(message);
  const [{ path = [], message: why } = { message: "not an initialize request" }] = issues;
  const where = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return protocolError(400, -32602, `Invalid params: ${where}: ${why}`);
}

function introducedTooLong(): Response {
  const most = `capabilities and clientInfo may have ${introductionCharactersMax} characters`;
  return protocolError(400, -32602, `Invalid params: ${most}`);
}

const noRoom = (): Response => protocolError(503, -32000, "Too many sessions are open; try again later.");

const asClientsSend = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

const initializeRequest = (params: Introduction): InitializeRequest & { jsonrpc: "2.0"; id: number } => ({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params,
});

/** Only what is used here. Clients also send their icons, some of them as whole pictures. */
const usedParams = ({ params }: InitializeRequest): Introduction => ({
  protocolVersion: params.protocolVersion,
  capabilities: params.capabilities,
  clientInfo: { name: params.clientInfo.name, version: params.clientInfo.version },
});
