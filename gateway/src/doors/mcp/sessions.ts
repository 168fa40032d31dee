import {
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
  type AuthInfo,
  type InitializeRequest,
  type McpServer,
} from "@modelcontextprotocol/server";
import { protocolError } from "./protocol-error.ts";
import { callerOf } from "./visit.ts";

interface Session {
  /** Who opened it; for anybody else it does not exist. */
  readonly principal: string;
  readonly accountId: string;
  readonly server: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAtMs: number;
}

interface Parts {
  readonly createServer: () => McpServer;
  readonly newSessionId: () => string;
  readonly monotonicMs: () => number;
}

/** Clients of the older revisions open a session first. An id alone opens nothing: it is bound to who made it. */
export interface Sessions {
  readonly answer: (request: Request, body: unknown, introduced: AuthInfo) => Promise<Response>;
  readonly count: () => number;
}

const idleMsMax = 30 * 60_000;
const sweepEveryMs = 60_000;
const sessionsMax = 5_000;
/** One client needs one; a client that opens them without end only displaces its own. */
const sessionsEachMax = 50;
/** Whoever has many keys, or signs in many times, displaces their own too, and nobody else's. */
const sessionsOfAccountMax = 200;
/** A session keeps what its client says about itself as long as it lives; a few hundred characters are usual. */
const introductionCharactersMax = 16 * 1024;

export function createSessions({ createServer, newSessionId, monotonicMs }: Parts): Sessions {
  const sessions = new Map<string, Session>();

  const end = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.server.close().catch(() => {});
  };
  const isIdle = ({ usedAtMs }: Session): boolean => monotonicMs() - usedAtMs > idleMsMax;
  const sweeper = setInterval(() => {
    for (const [id, session] of sessions) if (isIdle(session)) end(id);
  }, sweepEveryMs);
  sweeper.unref();

  const endOldest = (isOwn: (session: Session) => boolean, most: number): void => {
    const own = [...sessions].filter(([, session]) => isOwn(session));
    const [oldest] = own.toSorted(([, a], [, b]) => a.usedAtMs - b.usedAtMs);
    if (oldest && own.length >= most) end(oldest[0]);
  };

  const makeRoom = (principal: string, accountId: string): boolean => {
    endOldest((session) => session.principal === principal, sessionsEachMax);
    endOldest((session) => session.accountId === accountId, sessionsOfAccountMax);
    return sessions.size < sessionsMax;
  };

  /** Apart from `open`, because what these functions can see lives as long as the session: its request is not for that. */
  const createTransport = (
    principal: string,
    accountId: string,
    server: McpServer,
  ): WebStandardStreamableHTTPServerTransport => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: newSessionId,
      onsessioninitialized: (id) =>
        void sessions.set(id, { principal, accountId, server, transport, usedAtMs: monotonicMs() }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    return transport;
  };

  const open = async (request: Request, body: InitializeRequest, introduced: AuthInfo): Promise<Response> => {
    const params = usedParams(body);
    if (JSON.stringify(params).length > introductionCharactersMax) {
      const most = `capabilities and clientInfo may have ${introductionCharactersMax} characters`;
      return protocolError(400, -32602, `Invalid params: ${most}`);
    }
    const principal = introduced.clientId;
    const { accountId } = callerOf(introduced);
    if (!makeRoom(principal, accountId))
      return protocolError(503, -32000, "Too many sessions are open; try again later.");
    const server = createServer();
    const transport = createTransport(principal, accountId, server);
    await server.connect(transport);
    const parsedBody = { ...body, params };
    const response = await transport.handleRequest(request, { parsedBody, authInfo: introduced });
    if (transport.sessionId === undefined) await server.close();
    return response;
  };

  return {
    count: () => sessions.size,
    answer: async (request, body, introduced) => {
      const id = request.headers.get("mcp-session-id");
      if (id === null) {
        if (isInitializeRequest(body)) return open(request, body, introduced);
        if (request.method !== "POST") {
          return protocolError(405, -32000, "Method not allowed without a session.", { allow: "POST" });
        }
        return protocolError(
          400,
          -32000,
          "Bad Request: Mcp-Session-Id header is required; initialize first.",
        );
      }
      const known = sessions.get(id);
      if (known && isIdle(known)) end(id);
      const session = sessions.get(id);
      // A session of somebody else looks like none at all.
      if (!session || session.principal !== introduced.clientId) {
        return protocolError(404, -32001, "Session not found");
      }
      session.usedAtMs = monotonicMs();
      return session.transport.handleRequest(request, {
        ...(body === undefined ? {} : { parsedBody: body }),
        authInfo: introduced,
      });
    },
  };
}

/** Without what nobody here looks at: the icons of a client are pictures, and some write them out in full. */
const usedParams = ({ params }: InitializeRequest): InitializeRequest["params"] => ({
  protocolVersion: params.protocolVersion,
  capabilities: params.capabilities,
  clientInfo: { name: params.clientInfo.name, version: params.clientInfo.version },
});
