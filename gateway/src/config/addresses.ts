/** The addresses under which callers, agents and readers know this gateway. */
export interface Addresses {
  readonly baseUrl: string;
  readonly mcpUrl: string;
  readonly siteUrl: string;
}

/** Each can be set apart; what is not set follows the base address. */
export const completeAddresses = (
  baseUrl: string,
  set: { readonly mcpUrl?: string | undefined; readonly siteUrl?: string | undefined } = {},
): Addresses => ({ baseUrl, mcpUrl: set.mcpUrl ?? `${baseUrl}/mcp`, siteUrl: set.siteUrl ?? baseUrl });
