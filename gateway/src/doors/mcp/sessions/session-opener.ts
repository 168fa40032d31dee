import {
  WebStandardStreamableHTTPServerTransport,
  type AuthInfo,
  type InitializeRequest,
  type McpServer,
} from "@modelcontextprotocol/server";
import { protocolError } from "../protocol-error.ts";
import { callerOf } from "../visit.ts";
import { initializeRequest, introducedTooLong, introductionIn, isTooLong } from "./introduction.ts";
import type { OpenSessions, Session } from "./open-sessions.ts";
import { beginProgress, progressTokenIn } from "./progress.ts";
import { createRunningRequests } from "./running-requests.ts";
import type { SessionRecords } from "./session-records.ts";

interface Parts {
  readonly createServer: () => McpServer;
  readonly newSessionId: () => string;
  readonly records: SessionRecords;
  readonly sessions: OpenSessions;
  readonly orTell: OrTell;
  /** Called when a request of a session has ended. */
  readonly noteUse: (id: string, session: Session) => Promise<boolean>;
  readonly monotonicMs: () => number;
}

/** What was written to the store; undefined, and the operator told, when it could not be. */
export type OrTell = <Told>(writing: Promise<Told>) => Promise<Told | undefined>;

export interface SessionOpener {
  /** For a client that introduces itself. */
  readonly open: (request: Request, body: InitializeRequest, introduced: AuthInfo) => Promise<Response>;
  /** Says for the client once more what it said when it opened the session. */
  readonly reopen: FindSession;
}

/** Undefined when there is no such session for whoever asks. */
export type FindSession = (
  id: string,
  url: string,
  introduced: AuthInfo,
) => Promise<Session | "no_room" | undefined>;

export function createSessionOpener({
  createServer,
  newSessionId,
  records,
  sessions,
  orTell,
  noteUse,
  monotonicMs,
}: Parts): SessionOpener {
  const open: SessionOpener["open"] = async (request, body, introduced) => {
    const introduction = introductionIn(body);
    if (isTooLong(introduction)) return introducedTooLong();
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
      if (session) session.grantId = grantId;
      if (session && isKept !== true) session.extendedAtMs = Number.POSITIVE_INFINITY;
    }
    return opened.response;
  };

  const reopen: FindSession = async (id, url, introduced) => {
    const introduction = await records.find({ id, principal: introduced.clientId });
    // Its use here is news to the store. One that is being ended, so that another has room, must take no room again.
    if (!introduction || (await orTell(records.extend(id))) === false) return undefined;
    const request = new Request(url, { method: "POST", headers: asClientsSend });
    const opened = await initialize(request, introduced, initializeRequest(introduction), id);
    if (opened === "no_room") return opened;
    await opened.response.text();
    return sessions.find(id);
  };

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
      grantId: undefined,
      usedAtMs: nowMs,
      extendedAtMs: nowMs,
    };
    sessions.add(id, session);
    return session;
  };

  return { open, reopen };
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

const asClientsSend = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

export const noRoom = (): Response =>
  protocolError(503, -32000, "Too many sessions are open; try again later.");
