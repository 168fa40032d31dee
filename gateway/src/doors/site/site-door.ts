import type { ContractShelf } from "../../contract/contract-shelf.ts";
import type { SalesShelf } from "../../contract/sales-shelf.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { Offer } from "../../offer/offer.ts";
import type { Clock } from "../../platform/clock.ts";
import type { AnswerVisit, Door, DoorVisit } from "../../platform/door.ts";
import { isGetOrHead } from "../../platform/http-request.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { createContractPages } from "./contract-pages.ts";
import { salesPage } from "./sales-page.ts";
import { hashHeader, revisionHeader, type SitePage } from "./site-page.ts";

interface SiteParts {
  readonly contracts: ContractShelf;
  readonly sales: SalesShelf;
  readonly offer: () => Offer;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly refuse: (refusal: CallRefused, visit: DoorVisit) => Response;
}

/** What anybody may read without a key: contracts, prices and the pages about them. */
export function createSiteDoor(parts: SiteParts): Door {
  const pages: Readonly<Record<string, SitePage>> = {
    ...createContractPages(parts),
    "/api/sales-api-data": salesPage(parts),
  };

  const answer = async (page: SitePage, visit: DoorVisit): Promise<Response> => {
    const { visitor, request, target } = visit;
    const query = new URLSearchParams(target.rawQuery);
    try {
      return await page({ headers: request.headers, path: target.path, query, visitor });
    } catch (error) {
      if (error instanceof CallRefused) return parts.refuse(error, visit);
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
    name: "a page",
    find: (request, path): AnswerVisit | undefined => {
      const page = isGetOrHead(request) && Object.hasOwn(pages, path) ? pages[path] : undefined;
      return page && (async (visit) => withVersion(await answer(page, visit)));
    },
  };
}
