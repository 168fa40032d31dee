// An agent's client written by hand, so that tests can send what no library would: both eras of the protocol, over
// real HTTP, with every header and member in reach.

export interface Rpc {
  readonly status: number;
  readonly headers: Headers;
  /** The message that answers the request; the others came before it on the same stream. */
  readonly message: RpcMessage;
  readonly before: readonly RpcMessage[];
}

interface RpcMessage {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly {
    readonly type: string;
    readonly text: string;
    readonly data?: string;
    readonly mimeType?: string;
  }[];
  readonly structuredContent: Readonly<Record<string, unknown>>;
  readonly resultType?: string;
  readonly requestState?: string;
  readonly inputRequests?: Readonly<Record<string, { readonly method: string; readonly params: object }>>;
}

/** Why a tool did not do what it was asked. */
export const errorOf = ({ structuredContent }: ToolResult): Record<string, unknown> =>
  structuredContent["error"] as Record<string, unknown>;

const modernVersion = "2026-07-28";
const prefix = "io.modelcontextprotocol/";

export interface ModernOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly capabilities?: object;
  readonly meta?: object;
  readonly signal?: AbortSignal;
}

/** A request of 2026-07-28: no session, everything in the request itself. */
export async function askModern(
  url: string,
  key: string | undefined,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  options: ModernOptions = {},
): Promise<Rpc> {
  const name = typeof params["name"] === "string" ? params["name"] : undefined;
  return send(url, {
    method: "POST",
    headers: { ...modernHeaders(key, method, name), ...options.headers },
    body: modernMessage(method, params, options),
    ...(options.signal ? { signal: options.signal } : {}),
  });
}

export const modernMessage = (
  method: string,
  params: Readonly<Record<string, unknown>>,
  { capabilities = {}, meta }: Pick<ModernOptions, "capabilities" | "meta"> = {},
): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        [`${prefix}protocolVersion`]: modernVersion,
        [`${prefix}clientCapabilities`]: capabilities,
        [`${prefix}clientInfo`]: { name: "test", version: "1" },
        ...meta,
      },
    },
  });

/** How a client of an older revision begins, with what it says of itself. */
export const introduction = (capabilities: object, clientInfo: object): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo: { name: "test", version: "1", ...clientInfo },
    },
  });

export const modernHeaders = (
  key: string | undefined,
  method: string,
  name?: string,
): Record<string, string> => ({
  ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": modernVersion,
  "mcp-method": method,
  ...(name === undefined ? {} : { "mcp-name": name }),
});

export async function useTool(
  url: string,
  key: string,
  name: string,
  given: unknown,
  options: ModernOptions & { readonly round?: Readonly<Record<string, unknown>> } = {},
): Promise<ToolResult> {
  const { status, message } = await askModern(
    url,
    key,
    "tools/call",
    { name, arguments: given, ...options.round },
    options,
  );
  if (!message.result) throw new Error(`${name}: ${status} ${JSON.stringify(message)}`);
  return message.result as unknown as ToolResult;
}

export async function send(url: string, init: RequestInit): Promise<Rpc> {
  const response = await fetch(url, init);
  const messages = await readMessages(response);
  const message = messages.findLast((one) => one.method === undefined) ?? {};
  return {
    status: response.status,
    headers: response.headers,
    message,
    before: messages.filter((one) => one !== message),
  };
}

async function readMessages(response: Response): Promise<RpcMessage[]> {
  const text = await response.text();
  if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    return text === "" ? [] : [JSON.parse(text) as RpcMessage];
  }
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line !== "data: ")
    .map((line) => JSON.parse(line.slice("data: ".length)) as RpcMessage);
}

/** A client of 2025-11-25 with a session. */
export interface OldClient {
  readonly sessionId: string;
  readonly ask: (method: string, params?: object, id?: number | string) => Promise<Rpc>;
  /** Sends without waiting for the answer's end: what a request that needs the other direction is made of. */
  readonly open: (
    message: object,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ) => Promise<Response>;
}

export async function openOldClient(
  url: string,
  key: string,
  capabilities: object = {},
  version = "2025-11-25",
): Promise<OldClient> {
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const opened = await send(url, {
    method: "POST",
    headers,
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: version, capabilities, clientInfo: { name: "test", version: "1" } },
    }),
  });
  const sessionId = opened.headers.get("mcp-session-id") ?? "";
  const inSession = { ...headers, "mcp-session-id": sessionId, "mcp-protocol-version": version };
  const open: OldClient["open"] = (message, more = {}, signal) =>
    fetch(url, {
      method: "POST",
      headers: { ...inSession, ...more },
      body: JSON.stringify(message),
      ...(signal ? { signal } : {}),
    });
  await (await open({ jsonrpc: "2.0", method: "notifications/initialized" })).body?.cancel();
  let ids = 0;
  return {
    sessionId,
    open,
    ask: (method, params = {}, id = ++ids) =>
      send(url, {
        method: "POST",
        headers: inSession,
        body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
      }),
  };
}
