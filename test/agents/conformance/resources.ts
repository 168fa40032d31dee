import { ResourceTemplate, type McpServer } from "@modelcontextprotocol/server";
import { png } from "./plain-parts.ts";

export function addResources(server: McpServer): void {
  const described = (name: string, mimeType: string) => ({ description: name, mimeType });
  server.registerResource("static-text", "test://static-text", described("Text", "text/plain"), () => ({
    contents: [
      {
        uri: "test://static-text",
        mimeType: "text/plain",
        text: "This is the content of the static text resource.",
      },
    ],
  }));
  server.registerResource("static-binary", "test://static-binary", described("Bytes", "image/png"), () => ({
    contents: [{ uri: "test://static-binary", mimeType: "image/png", blob: png }],
  }));
  server.registerResource("watched", "test://watched-resource", described("Watched", "text/plain"), () => ({
    contents: [{ uri: "test://watched-resource", mimeType: "text/plain", text: "Watched" }],
  }));
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    described("By id", "application/json"),
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
}
