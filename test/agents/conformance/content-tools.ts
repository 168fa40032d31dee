// Tools that answer with every kind of content, fail, or have unusual schemas.

import { fromJsonSchema, type McpServer } from "@modelcontextprotocol/server";
import { nothing, png, text } from "./plain-parts.ts";

export function addContentTools(server: McpServer): void {
  const fixed = (name: string, content: readonly object[]): void => {
    server.registerTool(name, { description: name, inputSchema: nothing }, () => ({
      // What the suite wants to see, word for word.
      content: content as ReturnType<typeof text>["content"],
    }));
  };
  fixed("test_simple_text", text("This is a simple text response for testing.").content);
  fixed("test_image_content", [{ type: "image", data: png, mimeType: "image/png" }]);
  fixed("test_audio_content", [{ type: "audio", data: wav, mimeType: "audio/wav" }]);
  fixed("test_embedded_resource", [
    {
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content.",
      },
    },
  ]);
  fixed("test_multiple_content_types", [
    { type: "text", text: "Multiple content types test:" },
    { type: "image", data: png, mimeType: "image/png" },
    {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: '{"test":"data","value":123}',
      },
    },
  ]);
  server.registerTool("test_error_handling", { description: "Always fails", inputSchema: nothing }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool(
    "json_schema_2020_12_tool",
    {
      description: "Tool with JSON Schema 2020-12 features",
      inputSchema: fromJsonSchema({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            $anchor: "addressDef",
            type: "object",
            properties: { street: { type: "string" }, city: { type: "string" } },
          },
        },
        properties: {
          name: { type: "string" },
          address: { $ref: "#/$defs/address" },
          contactMethod: { type: "string", enum: ["phone", "email"] },
          phone: { type: "string" },
          email: { type: "string" },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
      }),
    },
    () => text("ok"),
  );
  server.registerTool(
    "test_custom_headers",
    {
      description: "Mirrors a parameter in a header",
      inputSchema: fromJsonSchema({
        type: "object",
        properties: {
          region: { type: "string", ...mirrored },
          query: { type: "string" },
        },
        required: ["region"],
      }),
    },
    () => text("ok"),
  );
}

const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/** A keyword of the protocol's own, which the type of JSON Schema does not know. */
const mirrored = { "x-mcp-header": "Region" };
