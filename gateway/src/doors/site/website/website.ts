import type { Addresses } from "../../../config/addresses.ts";
import { documentOf } from "../../../contract/contract-document.ts";
import { refuseWithoutContract, type ContractShelf } from "../../../contract/contract-shelf.ts";
import type { Offer } from "../../../offer/offer.ts";
import type { AnswerVisit, Door } from "../../../platform/door.ts";
import { isGetOrHead } from "../../../platform/http-request.ts";
import { refuse } from "../../../platform/refusals.ts";
import { preferred } from "./accepts.ts";
import { loadAssets } from "./assets.ts";
import { contentOf, contentOfAsset, type Content } from "./content.ts";
import { landingPage } from "./landing-page.ts";
import { layout } from "./layout.ts";
import { llmsText } from "./llms-text.ts";
import { notFoundPage } from "./not-found-page.ts";
import { operationPage } from "./operation-page.ts";
import { operationsPage } from "./operations-page.ts";
import { createMaterial, twinOf, type Material, type Page, type ReadContract } from "./page.ts";
import { pricesPage, readSearch } from "./prices-page.ts";
import { quickstartPage } from "./quickstart-page.ts";
import { referencePage } from "./reference-page.ts";
import { respond } from "./respond.ts";

interface Parts {
  readonly offer: () => Offer;
  readonly addresses: Addresses;
  readonly contracts: Pick<ContractShelf, "current">;
}

/** Pages for people and their Markdown twins for agents, made from the offer: each once, when first asked for. */
export interface Website extends Pick<Door, "name"> {
  /** Answers whatever no other door does, if only that there is no such page. */
  readonly answer: AnswerVisit;
}

export function createWebsite(parts: Parts): Website {
  const assets = loadAssets();
  const all = [assets.style, assets.script, assets.reference, assets.scalar, assets.icon];
  const files = new Map(all.map((asset) => [asset.path, contentOfAsset(asset)]));
  for (const path of ["/favicon.ico", "/favicon.svg"]) {
    files.set(path, { ...contentOfAsset(assets.icon), headers: { "cache-control": "no-cache" } });
  }
  let shown: { readonly of: Offer; readonly shelf: Shelf } | undefined;
  const shelf = (): Shelf => {
    const of = parts.offer();
    if (shown?.of !== of) {
      const material = createMaterial(of, parts.addresses, assets);
      shown = { of, shelf: createShelf(material, () => readContract(parts.contracts)) };
    }
    return shown.shelf;
  };

  const find = async (path: string, request: Request, rawQuery: string): Promise<Response | undefined> => {
    const file = files.get(path);
    if (file) return respond(file, request);
    const { makers, content } = shelf();
    if (makers.has(path)) return respond(await content(path, request, rawQuery), request);
    return makers.has(path.replace(/(?<=\w)\/$/, "")) ? withoutSlash(path, rawQuery) : undefined;
  };

  return {
    name: "a page",
    answer: async ({ request, target: { path, rawQuery } }) => {
      const found = isGetOrHead(request) ? await find(path, request, rawQuery) : undefined;
      if (found) return found;
      if (wantsPage(request, path)) return respond(shelf().missing(), request, 404);
      return refuse("unknown_endpoint", "api endpoint not found");
    },
  };
}

const wantsPage = (request: Request, path: string): boolean =>
  isGetOrHead(request) &&
  !forPrograms.test(path) &&
  preferred(request.headers.get("accept"), ["text/html", "application/json"]) === "text/html";

/** People and programs end an address with a slash where none is. Said from there, it holds under any prefix. */
function withoutSlash(path: string, rawQuery: string): Response {
  const [name = ""] = path.split("/").slice(-2);
  const location = `../${name}${rawQuery === "" ? "" : `?${rawQuery}`}`;
  return new Response(null, { status: 308, headers: { location } });
}

/** Here programs ask, also those that would take a page. */
const forPrograms = /^\/(api|openapi|mcp|sandbox)(\/|$)/;

/** Makes something, from the query where it is a search. */
type Maker = (query: URLSearchParams) => Promise<Content>;

interface Shelf {
  readonly makers: ReadonlyMap<string, Maker>;
  readonly content: (path: string, request: Request, rawQuery: string) => Promise<Content>;
  readonly missing: () => Content;
}

/** Everything of one offer, kept once made. A search is made anew each time. */
function createShelf(material: Material, contract: () => Promise<ReadContract>): Shelf {
  const makers = createMakers(material, contract);
  const kept = new Map<string, Promise<Content>>();
  let missing: Content | undefined;
  const make = async (path: string, query: URLSearchParams): Promise<Content> =>
    makers.get(path)?.(query) ?? refuse("unknown_endpoint", "there is no such page");

  return {
    makers,
    content: async (path, request, rawQuery) => {
      const wanted = preferred(request.headers.get("accept"), ["text/html", "text/markdown"]);
      const twin = twinOf(path);
      const asked = wanted === "text/markdown" && makers.has(twin) ? twin : path;
      const query = new URLSearchParams(rawQuery);
      if (searchable.has(asked) && (query.has("q") || query.has("category"))) return make(asked, query);
      const earlier = kept.get(asked);
      if (earlier) return earlier;
      const made = make(asked, new URLSearchParams());
      kept.set(asked, made);
      // What could not be made this time may be made the next.
      made.catch(() => kept.delete(asked));
      return made;
    },
    missing: () => (missing ??= htmlOf(notFoundPage(material), material)),
  };
}

const searchable: ReadonlySet<string> = new Set(["/prices", "/prices.md"]);

function createMakers(material: Material, contract: () => Promise<ReadContract>): Map<string, Maker> {
  const makers = new Map<string, Maker>();
  const add = (path: string, create: (query: URLSearchParams) => Page | Promise<Page>): void => {
    makers.set(path, async (query) => htmlOf(await create(query), material));
    makers.set(twinOf(path), async (query) => markdownOf(await create(query)));
  };
  add("/", () => landingPage(material));
  add("/quickstart", () => quickstartPage(material));
  add("/prices", (query) => pricesPage(material, readSearch(query)));
  add("/docs/operations", () => operationsPage(material));
  add("/docs", async () =>
    referencePage(material, (await contract()).contentHash, operationsPage(material).markdown),
  );
  for (const offered of material.offer.operations.values()) {
    add(`/docs/operations/${offered.operation.id}`, async () =>
      operationPage(offered, material, await contract()),
    );
  }
  const words = (written: string) => async (): Promise<Content> =>
    contentOf("text/plain; charset=utf-8", written, {});
  makers.set("/llms.txt", words(llmsText(material)));
  makers.set("/robots.txt", words("User-agent: *\nDisallow: /v1/\nDisallow: /v1beta/\nDisallow: /apis/\n"));
  return makers;
}

/** The contract as it lies on the shelf, read. */
async function readContract(contracts: Pick<ContractShelf, "current">): Promise<ReadContract> {
  const current = (await contracts.current()) ?? refuseWithoutContract();
  return { contentHash: current.contentHash, document: documentOf(current) };
}

const htmlOf = (page: Page, material: Material): Content =>
  contentOf("text/html; charset=utf-8", layout(page, material), {
    "content-security-policy": page.bare ? referencePolicy(material) : policy,
  });

const markdownOf = ({ title, markdown }: Page): Content =>
  contentOf("text/markdown; charset=utf-8", `# ${title}\n\n${markdown}`, {});

const fromHere = [
  "default-src 'none'",
  "script-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

const policy = [...fromHere, "style-src 'self'", "img-src 'self' data:"].join("; ");

/** Scalar puts its styles into the page itself and asks this gateway; it may do nothing else. */
const referencePolicy = ({ apiApart }: Material): string =>
  [
    ...fromHere,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self'${apiApart === undefined ? "" : ` ${new URL(apiApart).origin}`}`,
  ].join("; ");
