// node clients/mcp-remote.mjs URL [KEY]: a bridge for clients that only know programs, driven by such a client.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { fileURLToPath } from "node:url";
import { journey, say } from "./person-line.mjs";

const [url, key] = process.argv.slice(2);
const bridge = fileURLToPath(new URL("./node_modules/mcp-remote/dist/proxy.js", import.meta.url));
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [
    bridge,
    url,
    "--allow-http",
    "--transport",
    "http-only",
    ...(key === undefined ? [] : ["--header", `Authorization: Bearer ${key}`]),
  ],
  env: { ...process.env },
  stderr: "pipe",
});
let heard = "";
transport.stderr.on("data", (chunk) => {
  heard += chunk;
  const authorize = /https?:\/\/\S+\/authorize\?\S+/.exec(heard)?.[0];
  if (authorize === undefined) return;
  heard = "";
  say({ authorize });
});
const client = new Client({ name: "through-mcp-remote", version: "1" });
await client.connect(transport, { timeout: 30_000 });
const callTool = (name, given) => client.callTool({ name, arguments: given });
const went = await journey(callTool);
say({ result: { ...went, tools: (await client.listTools()).tools.map(({ name }) => name) } });
await client.close();
process.exit(0);
