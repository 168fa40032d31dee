// What the protocol's conformance suite calls: tools, resources and prompts with fixed names and answers. They are
// laid over the five tools of the real server, behind the same door, so that the suite tests our door and not a copy.

import type { McpServer } from "@modelcontextprotocol/server";
import { addAskingTools } from "./asking-tools.ts";
import { addContentTools } from "./content-tools.ts";
import { addFormTools } from "./form-tools.ts";
import { addPrompts } from "./prompts.ts";
import { addResources } from "./resources.ts";
import { addTalkingTools } from "./talking-tools.ts";

export function addFixtures(server: McpServer): void {
  server.server.registerCapabilities({ logging: {}, resources: { subscribe: true, listChanged: false } });
  addContentTools(server);
  addTalkingTools(server);
  addFormTools(server);
  addAskingTools(server);
  addResources(server);
  addPrompts(server);
}
