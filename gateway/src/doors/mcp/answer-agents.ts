import {
  createMcpHandler,
  isLegacyRequest,
  type AuthInfo,
  type McpServer,
} from "@modelcontextprotocol/server";
import { checkCredential } from "../../call/steps/authenticate.ts";
import { nothingKnown, type Known } from "../../call/call.ts";
import { returnCounted } from "../../call/limits/return-counted.ts";
import { countRequest } from "../../call/steps/count-request.ts";
import { renameToHost, type Addresses } from "../../config/addresses.ts";
import { bearerChallenge } from "../../grants/challenge.ts";
import type { AnswerVisit, DoorVisit } from "../../platform/door.ts";
import { isJsonObject, parseJson } from "../../platform/json.ts";
import { describeError } from "../../platform/log.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { tellRequestsLimit } from "../wire/limit-headers.ts";
import { presentedKey } from "../wire/presented-key.ts";
import { letsRestPass, type BodyReader } from "../wire/read-body.ts";
import { createAnswerMemory } from "./sessions/answer-memory.ts";
import { guardOrigin } from "./guard-origin.ts";
import { protocolError } from "./protocol-error.ts";
import { refusePayingHeaders } from "./refuse-paying-headers.ts";
import { createRequestStates } from "./approval/request-state.ts";
import { createSearchIndex } from "./search/search-index.ts";
import { rememberIndex } from "./tools/search-tool.ts";
import type { SessionRecords } from "./sessions/session-records.ts";
import { createSessions } from "./sessions/sessions.ts";
import { createToolServer } from "./tools/tool-server.ts";
import { introduce, type ToolParts } from "./visit.ts";

export interface AgentParts extends Omit<ToolParts, "index" | "memory" | "states"> {
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

/** The protocol library's own usual bound. */
const bodyBytesMax = 4 * 1024 * 1024;
/** Above the limit only so much is read as it takes to tell a tool call from anything else. */
const limitedBytesMax = 64 * 1024;

export function createAgentAnswers(parts: AgentParts): AgentAnswers {
  const { gate, addresses } = parts;
  const toolParts: ToolParts = {
    ...parts,
    states: createRequestStates(parts.stateKey),
    index: rememberIndex(createSearchIndex),
    memory: createAnswerMemory(gate.clock.monotonicMs),
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

  const mcpUrlFor = ({ headers }: Request): string => renameToHost(addresses.mcpUrl, headers.get("host"));

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

  const letIn = async ({ visit: { request, visitor }, known, receivedAtMs }: Arrival): Promise<Response> => {
    const { pathname: path } = new URL(addresses.mcpUrl);
    const presented = presentedKey(request.headers, { path, offer: parts.offer() });
    const caller = await checkCredential({ presented, receivedAtMs, address: () => visitor.address() }, gate);
    const limited = await refusalOf(countRequest({ known, offer: parts.offer() }, caller, gate));
    const unheard = refusePayingHeaders(request, parts.offer());
    if (unheard) {
      if (limited) throw limited;
      return unheard;
    }
    const bytesMax = limited ? limitedBytesMax : bodyBytesMax;
    const body =
      request.method === "POST"
        ? await readMessage(request, parts.bodies, { bytesMax, accountId: caller.accountId }).catch(asRefusal)
        : undefined;
    if (limited && !isHeardBeyondLimit(body)) throw limited;
    if (body instanceof CallRefused) {
      if (body.status === 429) await returnCounted({ known }, gate);
      throw body;
    }
    if (body instanceof Response) return body;
    // checkCredential lets nobody pass who presented nothing.
    const value = presented.kind === "key" ? presented.value : "";
    return route(request, body, introduce({ caller, known, limited }, value, mcpUrlFor(request)));
  };

  const answerArrival = async (arrival: Arrival): Promise<Response> => {
    const { request, id } = arrival.visit;
    const guarded = guardOrigin(request, addresses, parts.settings().allowedHosts);
    if (guarded) return guarded;
    if (!methods.has(request.method)) {
      return protocolError(405, -32000, "Method not allowed.", { allow: "POST, GET, DELETE" });
    }
    try {
      return await letIn(arrival);
    } catch (error) {
      if (error instanceof CallRefused) return refused(error, request, mcpUrlFor(request));
      gate.log.error("the agent door failed unexpectedly", {
        request_id: id,
        ...describeError(error),
      });
      return protocolError(500, -32603, "internal error");
    }
  };

  const answer: AnswerVisit = async (visit) => {
    const arrival = { visit, known: nothingKnown(), receivedAtMs: gate.clock.wallMs() };
    const response = await answerArrival(arrival);
    const { requests } = arrival.known;
    if (requests) tellRequestsLimit(response.headers, requests, gate.clock.wallMs());
    return response;
  };

  const endListening = async (): Promise<void> => {
    isStopping = true;
    sessions.endListening();
    await subscriptions.close();
  };

  return { answer, sessionCount: sessions.count, endListening };
}

/** What is known of a request from its beginning, and what becomes known of it on the way. */
interface Arrival {
  readonly visit: DoorVisit;
  readonly known: Known;
  readonly receivedAtMs: number;
}

async function refusalOf(step: void | Promise<void>): Promise<CallRefused | undefined> {
  try {
    await step;
    return undefined;
  } catch (error) {
    return asRefusal(error);
  }
}

function asRefusal(error: unknown): CallRefused {
  if (error instanceof CallRefused) return error;
  throw error;
}

const stopping = (): Response =>
  protocolError(503, -32000, "The gateway is about to stop; try again.", { "retry-after": "1" });

const methods: ReadonlySet<string> = new Set(["POST", "GET", "DELETE"]);

async function readMessage(
  request: Request,
  bodies: BodyReader,
  { bytesMax, accountId }: { readonly bytesMax: number; readonly accountId: string },
): Promise<unknown> {
  const parsed = parseJson(await bodies.read(request, bytesMax, accountId));
  if (!parsed.ok) return protocolError(400, -32700, `Parse error: ${parsed.why}`);
  // Batches were taken out of the protocol; one message is one request.
  if (!isJsonObject(parsed.value)) return protocolError(400, -32600, "Invalid Request: expected one message");
  return parsed.value;
}

/**
 * A model that called a tool can wait and try again, so it is told; anything else is its client's to handle. But nobody
 * sends a person's answer or a cancellation twice, and neither begins anything: they count, and are heard.
 */
function isHeardBeyondLimit(message: unknown): boolean {
  if (!isJsonObject(message)) return false;
  const { method } = message;
  if (method === undefined) return "result" in message || "error" in message;
  return method === "tools/call" || method === "notifications/cancelled";
}

/** Refused before any message was handled, so HTTP says why. */
function refused(refusal: CallRefused, request: Request, mcpUrl: string): Response {
  const { status, code, message, details } = refusal;
  const headers: Record<string, string> = {};
  if (details.retryAfterSeconds !== undefined) headers["retry-after"] = String(details.retryAfterSeconds);
  if (status === 401) {
    headers["www-authenticate"] = bearerChallenge(
      mcpUrl,
      code === "missing_api_key" ? {} : { error: "invalid_token", description: message },
    );
  }
  if (code === "insufficient_scope") {
    headers["www-authenticate"] = bearerChallenge(mcpUrl, { error: code, description: message });
  }
  const goesOnSending = status === 413 && !letsRestPass(request.headers);
  if (goesOnSending || status === 408) headers["connection"] = "close";
  return protocolError(status, -32000, message, headers, { code });
}
