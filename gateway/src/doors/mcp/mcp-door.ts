import type { McpServer } from "@modelcontextprotocol/server";
import { describeError } from "../../platform/log.ts";
import type { AgentAnswers, AgentParts } from "./answer-agents.ts";
import { protocolError } from "./protocol-error.ts";

/** The protocol library's server, as an embedder may add to it. */
export type AgentServer = McpServer;

/** The door for agents. */
export interface McpDoor {
  /** Whether a request is for this door: its path, and its host too where the door has one of its own. */
  readonly serves: (path: string, request: Request) => boolean;
  readonly answer: AgentAnswers["answer"];
}

export function createMcpDoor(parts: AgentParts): McpDoor {
  const { gate, addresses } = parts;

  // The protocol's library takes more memory than all of the gateway's own code, and to many servers no agent ever
  // comes: it is loaded for the first one.
  let opened: Promise<AgentAnswers> | undefined;
  let sessionCount = (): number => 0;
  const open = async (): Promise<AgentAnswers> => {
    const { createAgentAnswers } = await import("./answer-agents.ts");
    const answers = createAgentAnswers(parts);
    ({ sessionCount } = answers);
    return answers;
  };
  gate.metrics.gauge("tollgate_agent_sessions", () => sessionCount());

  const answer: McpDoor["answer"] = async (request, address) => {
    try {
      return await (await (opened ??= open())).answer(request, address);
    } catch (error) {
      gate.log.error("the agent door failed unexpectedly", describeError(error));
      return protocolError(500, -32603, "internal error");
    }
  };

  const { pathname, host } = new URL(addresses.mcpUrl);
  const ownHost = host !== new URL(addresses.baseUrl).host && host !== new URL(addresses.siteUrl).host;
  return {
    serves: (path, request) => path === pathname && (!ownHost || request.headers.get("host") === host),
    answer: async (request, address) => {
      const response = await answer(request, address);
      response.headers.set("x-request-id", parts.newId());
      return response;
    },
  };
}
