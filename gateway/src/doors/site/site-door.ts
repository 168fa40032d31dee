import type { ContractShelf } from "../../contract/contract-shelf.ts";
import type { Contract } from "../../contract/create-contract.ts";
import type { SalesShelf } from "../../contract/sales-shelf.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { Offer } from "../../offer/offer.ts";
import type { Clock } from "../../platform/clock.ts";
import type { AnswerVisit, Door, DoorVisit } from "../../platform/door.ts";
import { isGetOrHead } from "../../platform/http-request.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { createContractPages } from "./contract-pages.ts";
import { salesPage } from "./sales-page.ts";
import type { SitePage, SiteRequest } from "./site-page.ts";

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

  const answer = async (
    page: SitePage,
    visit: DoorVisit,
    isAbout: SiteRequest["isAbout"],
  ): Promise<Response> => {
    const { visitor, request, target } = visit;
    const query = new URLSearchParams(target.rawQuery);
    try {
      return await page({ headers: request.headers, path: target.path, query, visitor, isAbout });
    } catch (error) {
      if (error instanceof CallRefused) return parts.refuse(error, visit);
      throw error;
    }
  };

  /** Whoever compares contracts can do so on every answer, also on one that says no. */
  const answerWithVersion = async (page: SitePage, visit: DoorVisit): Promise<Response> => {
    let about: Contract | undefined;
    const response = await answer(page, visit, (contract) => (about = contract));
    const { headers } = response;
    const word = parts.offer().names.provider;
    headers.set("access-control-allow-origin", "*");
    headers.set("access-control-expose-headers", `ETag, ${hashHeader(word)}, ${revisionHeader(word)}`);
    about ??= await parts.contracts.current();
    if (!about) return response;
    headers.set(hashHeader(word), about.contentHash);
    headers.set(revisionHeader(word), about.docsRevision);
    return response;
  };

  return {
    name: "a page",
    find: (request, path): AnswerVisit | undefined => {
      const page = isGetOrHead(request) && Object.hasOwn(pages, path) ? pages[path] : undefined;
      return page && ((visit) => answerWithVersion(page, visit));
    },
  };
}

const hashHeader = (word: string): string => `X-${word}-Contract-Hash`;
const revisionHeader = (word: string): string => `X-${word}-Docs-Revision`;
