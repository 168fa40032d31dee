export const approvalPages = "/oauth/approvals/";

/** Where a person answers; it asks them to sign in, so knowing it allows nothing. */
export const approvalPageUrl = ({ baseUrl }: { readonly baseUrl: string }, approvalId: string): string =>
  `${new URL(baseUrl).origin}${approvalPages}${approvalId}`;
