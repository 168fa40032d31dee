import type { Located } from "../../platform/visitor.ts";

/** One page of the site. A refusal thrown by it is answered like any other. */
export type SitePage = (asked: SiteRequest) => Promise<Response>;

export interface SiteRequest {
  readonly headers: Headers;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly visitor: Located;
}

export const hashHeader = (word: string): string => `X-${word}-Contract-Hash`;
export const revisionHeader = (word: string): string => `X-${word}-Docs-Revision`;
