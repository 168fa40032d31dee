import { code, text, type Block } from "./blocks.ts";
import type { ClientSnippets } from "./sdk-snippets.ts";

/** How agents' clients are pointed at the tool server: by signing in, or with a key as bearer. */
export const mcpSnippets = (mcpUrl: string): readonly ClientSnippets[] => [
  {
    title: "Claude Code",
    blocks: [
      code(
        "Sign in with OAuth (then type /mcp in a session)",
        "sh",
        `claude mcp add --transport http tollgate ${mcpUrl}`,
      ),
      code(
        "Or with a key",
        "sh",
        `claude mcp add --transport http tollgate ${mcpUrl} \\\n  --header "Authorization: Bearer $TOLLGATE_KEY"`,
      ),
    ],
  },
  {
    title: "Codex",
    blocks: [
      code(
        "Codex with a key",
        "sh",
        `codex mcp add tollgate --url ${mcpUrl} --bearer-token-env-var TOLLGATE_KEY`,
      ),
    ],
  },
  {
    title: "Gemini CLI",
    blocks: [
      code(
        "Gemini CLI with a key",
        "sh",
        `gemini mcp add -t http -H "Authorization: Bearer $TOLLGATE_KEY" tollgate ${mcpUrl}`,
      ),
    ],
  },
  {
    title: "Claude Desktop",
    blocks: [
      text(
        `Settings, Connectors, Add custom connector, with the address \`${mcpUrl}\`. Where that address is not public, let \`mcp-remote\` carry it:`,
      ),
      config("claude_desktop_config.json", {
        mcpServers: {
          tollgate: {
            command: "npx",
            args: ["-y", "mcp-remote", mcpUrl, "--header", "Authorization:${TOLLGATE_AUTH}"],
            env: { TOLLGATE_AUTH: "Bearer tgk_…" },
          },
        },
      }),
    ],
  },
  {
    title: "Cursor",
    blocks: [
      config(".cursor/mcp.json", {
        mcpServers: { tollgate: { url: mcpUrl, headers: { Authorization: "Bearer ${env:TOLLGATE_KEY}" } } },
      }),
    ],
  },
  {
    title: "VS Code",
    blocks: [
      config(".vscode/mcp.json", {
        inputs: [{ type: "promptString", id: "tollgate-key", description: "Tollgate key", password: true }],
        servers: {
          tollgate: {
            type: "http",
            url: mcpUrl,
            headers: { Authorization: "Bearer ${input:tollgate-key}" },
          },
        },
      }),
    ],
  },
  {
    title: "Any other client",
    blocks: [
      text("Transport: streamable HTTP. Leave the header out to sign in with OAuth instead."),
      config("mcp.json", {
        mcpServers: {
          tollgate: { type: "http", url: mcpUrl, headers: { Authorization: "Bearer tgk_…" } },
        },
      }),
    ],
  },
];

const config = (file: string, written: object): Block => code(file, "json", JSON.stringify(written, null, 2));
