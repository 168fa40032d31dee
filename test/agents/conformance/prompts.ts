import { completable, inputRequired, inputResponse, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { oneString, png } from "./plain-parts.ts";

export function addPrompts(server: McpServer): void {
  const says = (...contents: readonly object[]) => ({
    messages: contents.map((content) => ({
      role: "user" as const,
      // What the suite wants to see, word for word.
      content: content as { type: "text"; text: string },
    })),
  });
  server.registerPrompt("test_simple_prompt", { description: "Simple" }, () =>
    says({ type: "text", text: "This is a simple prompt for testing." }),
  );
  server.registerPrompt(
    "test_prompt_with_arguments",
    {
      description: "With arguments",
      argsSchema: z.object({
        arg1: completable(z.string(), (value) =>
          ["paris", "park", "party"].filter((word) => word.startsWith(value)),
        ),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => says({ type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "With a resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      says(
        {
          type: "resource",
          resource: {
            uri: resourceUri,
            mimeType: "text/plain",
            text: "Embedded resource content for testing.",
          },
        },
        { type: "text", text: "Please process the embedded resource above." },
      ),
  );
  server.registerPrompt("test_prompt_with_image", { description: "With an image" }, () =>
    says(
      { type: "image", data: png, mimeType: "image/png" },
      { type: "text", text: "Please analyze the image above." },
    ),
  );
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks first" }, (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "user_context");
    if (answer.kind === "elicit") return says({ type: "text", text: JSON.stringify(answer.content) });
    return inputRequired({
      inputRequests: {
        user_context: inputRequired.elicit({
          message: "What context should the prompt use?",
          requestedSchema: oneString("context"),
        }),
      },
    });
  });
}
