// The sandbox: every vendor behind one fetch function. Start reading here.
//
//   /<vendor>/…   the stand-ins, booked and faulted
//   /public/…     what links in their answers point to, and the platform's pages; no key, not booked
//   /_control/…   the test's own door: the book, the faults, the platform's tokens

import { createBook, type Book } from "./book.ts";
import { answerControl } from "./control.ts";
import { createFaults } from "./faults.ts";
import { answerWith, encode, respond } from "./faulty-answer.ts";
import type { ShelfFile } from "./shelf-file.ts";
import type { Vendor } from "./vendor.ts";
import { createAnthropic } from "./vendors/anthropic/anthropic.ts";
import { createCohere } from "./vendors/cohere.ts";
import { createDashScope } from "./vendors/dashscope/dashscope.ts";
import { createFinancialDatasets } from "./vendors/financialdatasets.ts";
import { createGemini } from "./vendors/gemini/gemini.ts";
import { createJina } from "./vendors/jina.ts";
import { createOpenAi } from "./vendors/openai/openai.ts";
import { createExa } from "./vendors/research/exa.ts";
import { createPerplexity } from "./vendors/research/perplexity.ts";
import { createTavily } from "./vendors/research/tavily.ts";
import { createScrapeCreators } from "./vendors/scrapecreators.ts";
import { createSimilarweb } from "./vendors/similarweb.ts";
import { createTikHub } from "./vendors/tikhub.ts";
import { createTwitterApi } from "./vendors/twitterapi.ts";
import { createVoyage } from "./vendors/voyage.ts";
import { createX } from "./vendors/x/x.ts";

export interface SandboxOptions {
  readonly now: () => number;
  /** Base of the links in answers, without a slash at its end. */
  readonly publicUrl: string;
  /** Makes the ids in those links unguessable, and the same for the same secret. */
  readonly secret: string;
  /** The one vendor key that is accepted. */
  readonly key?: string;
  /** When set, control paths need it in `x-sandbox-control`. */
  readonly controlToken?: string | undefined;
  /** How many polls of video tasks a second are answered; the vendor's own figure when not said. */
  readonly pollQps?: number | undefined;
  /** Where tasks, tokens and cached answers outlast the program; without it they end with it. */
  readonly file?: ShelfFile | undefined;
}

export interface Sandbox {
  /** Rejects where a vendor would close the socket. */
  readonly fetch: (request: Request) => Promise<Response>;
  readonly book: Book;
}

export function createSandbox({
  now,
  publicUrl,
  secret,
  key = "sandbox",
  controlToken,
  pollQps,
  file,
}: SandboxOptions): Sandbox {
  const book = createBook();
  const faults = createFaults();
  const tikhub = createTikHub({ key, publicUrl, secret, file });
  const x = createX({ publicUrl, file });
  const dashscope = createDashScope({ key, publicUrl, secret, pollQps, file });
  const vendors: ReadonlyMap<string, Vendor> = new Map([
    ["openai", createOpenAi({ key })],
    ["anthropic", createAnthropic({ key })],
    ["gemini", createGemini({ key })],
    ["perplexity", createPerplexity({ key })],
    ["tavily", createTavily({ key })],
    ["exa", createExa({ key })],
    ["jina", createJina({ key })],
    ["cohere", createCohere({ key })],
    ["voyage", createVoyage({ key })],
    ["dashscope", dashscope],
    ["tikhub", tikhub],
    ["scrapecreators", createScrapeCreators({ key })],
    ["twitterapi", createTwitterApi({ key })],
    ["similarweb", createSimilarweb({ key })],
    ["financialdatasets", createFinancialDatasets({ key })],
    ["x", x],
  ]);

  const fetch = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    const [, first = "", path = ""] = /^\/([^/]*)(.*)$/s.exec(url.pathname) ?? [];

    if (first === "_control")
      return answerControl({ request, path, query: url.searchParams, book, faults, x, controlToken });
    if (first === "public") return answerPublic(request, path, url.searchParams);

    const vendor = vendors.get(first);
    if (vendor === undefined)
      return notFound(`no vendor ${first}; known are ${[...vendors.keys()].join(", ")}`);
    return answerVendor(first, vendor, request, { path, url });
  };

  const answerVendor = async (
    name: string,
    vendor: Vendor,
    request: Request,
    { path, url }: { path: string; url: URL },
  ) => {
    const { method, headers, signal } = request;
    const nowMs = now();
    // Both before the first await: a call is booked, and meets its fault, in the order of arrival.
    const answered = book.arrive({ atMs: nowMs, vendor: name, method, path, query: url.search, headers });
    const fault = faults.take({ vendor: name, target: path + url.search });

    const body = await request.text();
    const ask = () => vendor.answer({ method, path, query: url.searchParams, headers, body, nowMs });
    const refuse = (status: number, message: string) => vendor.refuse(status, message, path);
    return answerWith({ fault, refuse, ask, signal, answered });
  };

  const answerPublic = async (request: Request, path: string, query: URLSearchParams): Promise<Response> => {
    const { method, headers } = request;
    if (path.startsWith("/x/")) return x.visit(request, path.slice("/x".length));
    if (method === "GET" && path.startsWith("/video/")) {
      const object = dashscope.links.follow({ path, query, range: headers.get("range"), nowMs: now() });
      return respond(object.status, object.bytes, object.headers);
    }
    const id = /^\/reseller-cache\/([^/]+)$/.exec(path)?.[1];
    const cached = id === undefined || method !== "GET" ? undefined : tikhub.cached({ id, nowMs: now() });
    return cached === undefined ? notFound("nothing is kept under this link") : respond(200, encode(cached));
  };

  return { fetch, book };
}

const notFound = (message: string): Response => respond(404, encode({ error: "Not Found", message }));
