// node clients/sdk-v2.mjs URL legacy|auto [KEY]

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { cameBack, createProvider, journey, say } from "./person-line.mjs";

const [url, mode, key] = process.argv.slice(2);
const provider = createProvider("SDK v2");
const open = () =>
  new StreamableHTTPClientTransport(
    new URL(url),
    key === undefined
      ? { authProvider: provider }
      : { requestInit: { headers: { authorization: `Bearer ${key}` } } },
  );
const create = () =>
  new Client(
    { name: "sdk-v2", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );

let client = create();
let transport = open();
try {
  await client.connect(transport);
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
  await transport.finishAuth((await cameBack()).searchParams);
  transport = open();
  client = create();
  await client.connect(transport);
}

let asked;
client.setRequestHandler("elicitation/create", (request) => {
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
    era: client.getProtocolEra(),
    asked,
    approved: approved.structuredContent,
  },
});
await client.close();
process.exit(0);
