// How a client here reaches its person: it prints the address to open, and reads where the person came back to.

import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export const redirectUrl = "http://127.0.0.1:4711/callback";

export const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** The address the person was sent back to, as the client would have received it. */
export async function cameBack() {
  const { value } = await lines.next();
  return new URL(value);
}

/** Keeps everything in memory, and sends the person off with a line. */
export function createProvider(name) {
  const kept = {};
  return {
    redirectUrl,
    clientMetadata: {
      client_name: name,
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => (kept.tokens = tokens),
    saveCodeVerifier: (verifier) => (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    // Where the person was sent to is asked for again when they return.
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (discovery) => (kept.discovery = discovery),
    authorizationServerInformation: () => kept.server,
    saveAuthorizationServerInformation: (server) => (kept.server = server),
    redirectToAuthorization: (url) => say({ authorize: url.href }),
  };
}

/** The same journey for every client: look around for free, then buy one answer. */
export async function journey(callTool) {
  const found = await callTool("search", { query: "company fundamentals by ticker" });
  const operationId = found.structuredContent.results[0].operation_id;
  const used = await callTool("use", {
    operation_id: operationId,
    arguments: { ticker: "AAPL" },
    max_price_usd: 0.1,
  });
  const refused = await callTool("use", {
    operation_id: operationId,
    arguments: { ticker: "AAPL" },
    max_price_usd: 0.01,
  });
  return {
    operation_id: operationId,
    status: used.structuredContent.status,
    settled_micros_usd: used.structuredContent.settled_micros_usd,
    request_id: used.structuredContent.request_id,
    refused: refused.structuredContent.error.code,
  };
}
