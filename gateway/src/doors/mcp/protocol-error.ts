/** An answer of the door itself, before any tool is reached, in the protocol's own words. */
export const protocolError = (
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  data?: unknown,
): Response =>
  Response.json(
    { jsonrpc: "2.0", error: { code, message, ...(data === undefined ? {} : { data }) }, id: null },
    { status, headers },
  );
