// node clients/ai-sdk.mjs URL [KEY]

import { auth, createMCPClient } from "@ai-sdk/mcp";
import { cameBack, createProvider, journey, say } from "./person-line.mjs";

const [url, key] = process.argv.slice(2);
const provider = createProvider("AI SDK");
if (key === undefined && (await auth(provider, { serverUrl: url })) === "REDIRECT") {
  const { searchParams } = await cameBack();
  await auth(provider, {
    serverUrl: url,
    authorizationCode: searchParams.get("code"),
    callbackState: searchParams.get("state") ?? undefined,
    callbackIssuer: searchParams.get("iss") ?? undefined,
  });
}
const client = await createMCPClient({
  transport: {
    type: "http",
    url,
    ...(key === undefined ? { authProvider: provider } : { headers: { authorization: `Bearer ${key}` } }),
  },
});
const tools = await client.tools();
const callTool = (name, given) => tools[name].execute(given, { toolCallId: name, messages: [] });
say({ result: { ...(await journey(callTool)), tools: Object.keys(tools) } });
await client.close();
process.exit(0);
