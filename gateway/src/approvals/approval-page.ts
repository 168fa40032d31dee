import type { Addresses } from "../config/addresses.ts";

export const approvalPages = "/oauth/approvals/";

/** Where a person answers; it asks them to sign in, so knowing it allows nothing. */
export const approvalPageUrl = ({ baseUrl }: Addresses, approvalId: string): string =>
  `${new URL(baseUrl).origin}${approvalPages}${approvalId}`;
