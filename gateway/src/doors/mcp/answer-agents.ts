import {
  createMcpHandler,
  isLegacyRequest,
  type AuthInfo,
  type McpServer,
} from "@modelcontextprotocol/server";
import { nothingKnown } from "../../call/call.ts";
import { renameToHost, type Addresses } from "../../config/addresses.ts";
import { bearerChallenge } from "../../grants/challenge.ts";
import type { AnswerVisit } from "../../platform/door.ts";
import { isJsonObject } from "../../platform/json.ts";
import { describeError } from "../../platform/log.ts";
import { onceFor } from "../../platform/once-for.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { tellRequestsLimit } from "../wire/limit-headers.ts";
import { letsRestPass, type BodyReader } from "../wire/read-body.ts";
import { answerPreflight, showToPage } from "./allow-page.ts";
import { createAnswerMemory } from "./sessions/answer-memory.ts";
import { guardOrigin } from "./guard-origin.ts";
import { letAgentIn, type Arrival } from "./let-agent-in.ts";
import { protocolError } from "./protocol-error.ts";
import { createRequestStates } from "./approval/request-state.ts";
import { createWaitingRoom } from "./approval/waiting-room.ts";
import { createSearchIndex } from "./search/search-index.ts";
import type { SessionRecords } from "./sessions/session-records.ts";
import { createSessions } from "./sessions/sessions.ts";
import { createToolServer } from "./tools/tool-server.ts";
import type { ToolParts } from "./visit.ts";

export interface AgentParts extends Omit<ToolParts, "index" | "memory" | "states" | "waiting"> {
  /** Seals what clients carry while their persons are asked. */
  readonly stateKey: Uint8Array;
  readonly sessionRecords: SessionRecords;
  readonly addresses: Addresses;
  readonly bodies: BodyReader;
  /** What an embedder adds to the five tools. */
  readonly extend?: ((server: McpServer) => void) | undefined;
}

/** What is behind the door for agents: both eras of the protocol on one address, with one set of tools. */
export interface AgentAnswers {
  readonly answer: AnswerVisit;
  readonly sessionCount: () => number;
  /** Whoever only waits for news is sent away, now and from now on; what agents have asked for goes on. */
  readonly endListening: () => Promise<void>;
}

export function createAgentAnswers(parts: AgentParts): AgentAnswers {
  const { gate, addresses } = parts;
  const toolParts: ToolParts = {
    ...parts,
    states: createRequestStates(parts.stateKey),
    index: onceFor(createSearchIndex),
    memory: createAnswerMemory(gate.clock.monotonicMs),
    waiting: createWaitingRoom(),
  };
  const createServer = (): McpServer => {
    const server = createToolServer(toolParts);
    parts.extend?.(server);
    return server;
  };
  const onerror = (error: Error): void => gate.log.debug("agent protocol", describeError(error));
  const modern = createMcpHandler(createServer, { legacy: "reject", onerror });
  // A handler of their own: the library can only end all of a handler's work, and listeners end earlier than the rest.
  const subscriptions = createMcpHandler(createServer, { legacy: "reject", onerror });
  const sessions = createSessions({
    createServer,
    newSessionId: parts.newSecretId,
    records: parts.sessionRecords,
    monotonicMs: gate.clock.monotonicMs,
    log: gate.log,
  });

  let isStopping = false;
  const route = async (request: Request, body: unknown, introduced: AuthInfo): Promise<Response> => {
    const subscribes = isJsonObject(body) && body["method"] === "subscriptions/listen";
    if (isStopping && (subscribes || request.method === "GET")) return stopping();
    if (await isLegacyRequest(request, body)) return sessions.answer(request, body, introduced);
    const handler = subscribes ? subscriptions : modern;
    return handler.fetch(request, {
      authInfo: introduced,
      ...(body === undefined ? {} : { parsedBody: body }),
    });
  };

  const answerArrival = async (arrival: Arrival): Promise<Response> => {
    const { request } = arrival.visit;
    const guarded = guardOrigin(request, addresses, parts.settings().allowedHosts);
    return guarded ?? showToPage(request, answerPreflight(request) ?? (await answerGuarded(arrival)));
  };

  const answerGuarded = async (arrival: Arrival): Promise<Response> => {
    const { request, id } = arrival.visit;
    if (!methods.has(request.method)) {
      return protocolError(405, -32000, "Method not allowed.", { allow: "POST, GET, DELETE" });
    }
    try {
      const letIn = await letAgentIn(arrival, parts);
      return letIn instanceof Response ? letIn : await route(request, letIn.body, letIn.introduced);
    } catch (error) {
      if (error instanceof CallRefused) return refused(error, request, arrival.mcpUrl);
      gate.log.error("the agent door failed unexpectedly", {
        request_id: id,
        ...describeError(error),
      });
      return protocolError(500, -32603, "internal error");
    }
  };

  const answer: AnswerVisit = async (visit) => {
    const arrival: Arrival = {
      visit,
      known: nothingKnown(),
      receivedAtMs: gate.clock.wallMs(),
      mcpUrl: renameToHost(addresses.mcpUrl, visit.request.headers.get("host")),
    };
    const page = await answerArrival(arrival);
    const { requests, caller } = arrival.known;
    if (requests) tellRequestsLimit(page.headers, requests, gate.clock.wallMs());
    return { page, owner: caller?.accountId };
  };

  const endListening = async (): Promise<void> => {
    isStopping = true;
    sessions.endListening();
    await subscriptions.close();
  };

  return { answer, sessionCount: sessions.count, endListening };
}

const stopping = (): Response =>
  protocolError(503, -32000, "The gateway is about to stop; try again.", { "retry-after": "1" });

const methods: ReadonlySet<string> = new Set(["POST", "GET", "DELETE"]);

/** Refused before any message was handled, so HTTP says why. */
function refused(refusal: CallRefused, request: Request, mcpUrl: string): Response {
  const { status, code, message, details } = refusal;
  const headers: Record<string, string> = {};
  if (details.retryAfterSeconds !== undefined) headers["retry-after"] = String(details.retryAfterSeconds);
  if (status === 401) {
    headers["www-authenticate"] = bearerChallenge(
      mcpUrl,
      code === "missing_api_key" ? undefined : { error: "invalid_token", description: message },
    );
  }
  if (code === "insufficient_scope") {
    headers["www-authenticate"] = bearerChallenge(mcpUrl, { error: code, description: message });
  }
  const goesOnSending = status === 413 && !letsRestPass(request.headers);
  if (goesOnSending || status === 408) headers["connection"] = "close";
  return protocolError(status, -32000, message, headers, { code });
}
