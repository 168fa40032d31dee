import type { McpServer } from "@modelcontextprotocol/server";
import { namesHostOf } from "../../config/addresses.ts";
import type { AnswerVisit, Door } from "../../platform/door.ts";
import { openLate } from "../../platform/open-late.ts";
import type { AgentAnswers, AgentParts } from "./answer-agents.ts";
import { protocolError } from "./protocol-error.ts";

/** The protocol library's server, as an embedder may add to it. */
export type AgentServer = McpServer;

/** The door for agents. */
export interface McpDoor extends Door {
  /** False when the door could not be opened, and still cannot be. */
  readonly isWell: () => Promise<boolean>;
  /** Ends the streams on which agents only listen for news: they would hold up a stop for nothing. */
  readonly endListening: () => Promise<void>;
}

export function createMcpDoor(parts: AgentParts): McpDoor {
  const { gate, addresses } = parts;

  // The protocol's library takes more memory than all of the gateway's own code, and to many servers no agent ever
  // comes: it is loaded for the first one.
  let opened: AgentAnswers | undefined;
  const agents = openLate(async (): Promise<AgentAnswers> => {
    // Loaded by itself first: the runtime never loads a file of ours again that once failed to find the library.
    await import("@modelcontextprotocol/server");
    const { createAgentAnswers } = await import("./answer-agents.ts");
    return (opened = createAgentAnswers(parts));
  });
  gate.metrics.gauge("tollgate_agent_sessions", () => opened?.sessionCount() ?? 0);

  const answer: AnswerVisit = async (visit) => (await agents.get()).answer(visit);

  const { pathname, host } = new URL(addresses.mcpUrl);
  // Half of the world's tool servers have a slash at the end of their address, so people write one.
  const paths = new Set([pathname, `${pathname}/`]);
  const ownHost = host !== new URL(addresses.baseUrl).host && host !== new URL(addresses.siteUrl).host;
  return {
    name: "the agent door",
    // Where the door has a host of its own, the host must fit too.
    find: ({ headers }, path) =>
      paths.has(path) && (!ownHost || namesHostOf(addresses.mcpUrl, headers.get("host")))
        ? answer
        : undefined,
    // Refusals are answered behind the door, with how the limits stand. Only a failure to open it comes here.
    refuse: () => protocolError(500, -32603, "internal error"),
    isWell: agents.isWell,
    endListening: async () => opened?.endListening(),
  };
}
