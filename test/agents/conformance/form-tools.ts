// Tools that show their person a form, with every kind of field.

import { inputRequired, inputResponse, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { text } from "./plain-parts.ts";

export function addFormTools(server: McpServer): void {
  type Form = Parameters<typeof inputRequired.elicit>[0]["requestedSchema"];
  const form = (name: string, words: string, requestedSchema: Form): void => {
    server.registerTool(
      name,
      { description: "Shows a form", inputSchema: z.object({ message: z.string().optional() }) },
      ({ message = "Please fill in" }, ctx) => {
        const answer = inputResponse(ctx.mcpReq.inputResponses, "form");
        if (answer.kind !== "elicit") {
          return inputRequired({
            inputRequests: { form: inputRequired.elicit({ message, requestedSchema }) },
          });
        }
        return text(`${words}: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);
      },
    );
  };
  form("test_elicitation", "User response", {
    type: "object",
    properties: {
      username: { type: "string", description: "User's response" },
      email: { type: "string", description: "User's email address" },
    },
    required: ["username", "email"],
  });
  form("test_elicitation_sep1034_defaults", "Elicitation completed", {
    type: "object",
    properties: {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    },
  });
  const titled = [
    { const: "value1", title: "First Option" },
    { const: "value2", title: "Second Option" },
    { const: "value3", title: "Third Option" },
  ];
  const options = ["option1", "option2", "option3"];
  form("test_elicitation_sep1330_enums", "Elicitation completed", {
    type: "object",
    properties: {
      untitledSingle: { type: "string", enum: options },
      titledSingle: { type: "string", oneOf: titled },
      legacyEnum: {
        type: "string",
        enum: ["opt1", "opt2", "opt3"],
        enumNames: ["Option One", "Option Two", "Option Three"],
      },
      untitledMulti: { type: "array", items: { type: "string", enum: options } },
      titledMulti: { type: "array", items: { anyOf: titled } },
    },
  });
}
