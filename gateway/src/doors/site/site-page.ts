import type { Contract } from "../../contract/create-contract.ts";
import type { Located } from "../../platform/visitor.ts";

/** One page of the site. A refusal thrown by it is answered like any other. */
export type SitePage = (asked: SiteRequest) => Promise<Response>;

export interface SiteRequest {
  readonly headers: Headers;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly visitor: Located;
  /** Says which contract the answer is about, also one that says no. About today's, when nothing is said. */
  readonly isAbout: (contract: Contract) => void;
}
