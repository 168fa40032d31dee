// Tools that say something while they work.

import type { McpServer } from "@modelcontextprotocol/server";
import { nothing, text } from "./plain-parts.ts";

const pauseMs = 50;

export function addTalkingTools(server: McpServer): void {
  const logged = ["Tool execution started", "Tool processing data", "Tool execution completed"];
  for (const name of ["test_tool_with_logging", "test_logging_tool"]) {
    server.registerTool(name, { description: "Logs", inputSchema: nothing }, async (_given, ctx) => {
      for (const words of logged) {
        await ctx.mcpReq.log("info", words);
        await Bun.sleep(pauseMs);
      }
      return text("Logged");
    });
  }
  server.registerTool(
    "test_tool_with_progress",
    { description: "Reports progress", inputSchema: nothing },
    async (_given, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress, total: 100 },
          });
        }
        await Bun.sleep(pauseMs);
      }
      return text("Done");
    },
  );
}
