// What a client says about itself when it opens its session, and what it is told when that cannot be used.

import { specTypeSchemas, type InitializeRequest } from "@modelcontextprotocol/server";
import { protocolError } from "../protocol-error.ts";

export type Introduction = InitializeRequest["params"];

/** A session keeps it as long as it lives; a few hundred characters are usual. */
const introductionCharactersMax = 16 * 1024;

export const isTooLong = (introduction: Introduction): boolean =>
  JSON.stringify(introduction).length > introductionCharactersMax;

/** Only what is used here. Clients also send their icons, some of them as whole pictures. */
export const introductionIn = ({ params }: InitializeRequest): Introduction => ({
  protocolVersion: params.protocolVersion,
  capabilities: params.capabilities,
  clientInfo: { name: params.clientInfo.name, version: params.clientInfo.version },
});

/** The same said once more, by us. */
export const initializeRequest = (
  params: Introduction,
): InitializeRequest & { jsonrpc: "2.0"; id: number } => ({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params,
});

/** A message without an id gets no answer, so its client would never hear which session was opened. */
export const notARequest = (): Response =>
  protocolError(400, -32600, "Invalid Request: initialize must be a JSON-RPC 2.0 request with an id");

/** Names the first of its members that is missing or wrong. */
export function wronglyIntroduced(message: object): Response {
  const { issues = [] } = specTypeSchemas.InitializeRequest["~standard"].validate(message);
  const [{ path = [], message: why } = { message: "not an initialize request" }] = issues;
  const where = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return protocolError(400, -32602, `Invalid params: ${where}: ${why}`);
}

export function introducedTooLong(): Response {
  const most = `capabilities and clientInfo may have ${introductionCharactersMax} characters`;
  return protocolError(400, -32602, `Invalid params: ${most}`);
}
