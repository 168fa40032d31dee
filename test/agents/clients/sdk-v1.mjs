// node clients/sdk-v1.mjs URL [KEY]

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { cameBack, createProvider, journey, say } from "./person-line.mjs";

const [url, key] = process.argv.slice(2);
const provider = createProvider("SDK v1");
const open = () =>
  new StreamableHTTPClientTransport(
    new URL(url),
    key === undefined
      ? { authProvider: provider }
      : { requestInit: { headers: { authorization: `Bearer ${key}` } } },
  );
const create = () => new Client({ name: "sdk-v1", version: "1" }, { capabilities: { elicitation: {} } });

let client = create();
let transport = open();
try {
  await client.connect(transport);
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
  await transport.finishAuth((await cameBack()).searchParams.get("code"));
  transport = open();
  client = create();
  await client.connect(transport);
}
let asked;
client.setRequestHandler(ElicitRequestSchema, (request) => {
  asked = request.params.message;
  return { action: "accept", content: { approve: true } };
});
const callTool = (name, given) => client.callTool({ name, arguments: given });
const went = await journey(callTool);
const approved = await callTool("use", {
  operation_id: "research.deep_search",
  arguments: { query: "why is the sky blue" },
  max_price_usd: 5,
});
say({
  result: {
    ...went,
    tools: (await client.listTools()).tools.map(({ name }) => name),
    asked,
    approved: approved.structuredContent,
  },
});
await transport.terminateSession();
await client.close();
process.exit(0);
