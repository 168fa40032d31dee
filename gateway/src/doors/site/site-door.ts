import type { ContractShelf } from "../../contract/contract-shelf.ts";
import type { SalesShelf } from "../../contract/sales-shelf.ts";
import type { Offer } from "../../offer/offer.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { createContractPages } from "./contract-pages.ts";
import { salesPage } from "./sales-page.ts";
import { hashHeader, revisionHeader, type SiteRequest, type SitePage } from "./site-page.ts";

interface SiteParts {
  readonly contracts: ContractShelf;
  readonly sales: SalesShelf;
  readonly offer: () => Offer;
  readonly newId: () => string;
  readonly refuse: (refusal: CallRefused, path: string) => Response;
}

/** What anybody may read without a key: contracts, prices and the pages about them. */
export interface SiteDoor {
  readonly find: (path: string) => ((request: Request, rawQuery: string) => Promise<Response>) | undefined;
}

export function createSiteDoor(parts: SiteParts): SiteDoor {
  const pages: Readonly<Record<string, SitePage>> = {
    ...createContractPages(parts),
    "/api/sales-api-data": salesPage(parts),
  };

  const answer = async (page: SitePage, asked: SiteRequest): Promise<Response> => {
    try {
      const response = await page(asked);
      response.headers.set("x-request-id", parts.newId());
      return response;
    } catch (error) {
      if (error instanceof CallRefused) return parts.refuse(error, asked.path);
      throw error;
    }
  };

  /** Whoever compares contracts can do so on every answer, also on one that says no. */
  const withVersion = async (response: Response): Promise<Response> => {
    const { headers } = response;
    const word = parts.offer().names.provider;
    headers.set("access-control-allow-origin", "*");
    headers.set("access-control-expose-headers", `ETag, ${hashHeader(word)}, ${revisionHeader(word)}`);
    if (headers.has(hashHeader(word))) return response;
    const current = await parts.contracts.current();
    if (!current) return response;
    headers.set(hashHeader(word), current.contentHash);
    headers.set(revisionHeader(word), current.docsRevision);
    return response;
  };

  return {
    find: (path) => {
      const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
      return (
        page &&
        (async ({ headers }, rawQuery) =>
          withVersion(await answer(page, { headers, path, query: new URLSearchParams(rawQuery) })))
      );
    },
  };
}
