import { accountPage, accountPageUrl, isAllowedHost, type Addresses } from "../../config/addresses.ts";
import type { McpConfig } from "../../config/mcp-config.ts";
import { accountFiles, accountPages, signInVisits, tryTake } from "../../limits/visitor-limits.ts";
import type { AnswerVisit, Door } from "../../platform/door.ts";
import type { OwnedPage } from "../../platform/reply.ts";
import { html } from "../pages/html.ts";
import { pageResponse } from "../pages/small-page.ts";
import { searchOf, type PageRequest } from "../people/form.ts";
import { callsPath } from "../people/account-layout.ts";
import { errorPage } from "../people/message-page.ts";
import { notUnderstood, withPerson, type SignedInVisit } from "../people/with-person.ts";
import { downloadCalls } from "./download-calls.ts";
import { callsFilePath } from "./calls-page.ts";
import { showCalls } from "./show-calls.ts";
import { linksPath } from "./links-page.ts";
import { showKeys } from "./show-keys.ts";
import { showLinks } from "./show-links.ts";
import { showOverview } from "./show-overview.ts";
import { openReader, type Reader, type ReaderParts } from "./reader.ts";
import { showReceipt } from "./show-receipt.ts";

interface Parts extends ReaderParts {
  readonly addresses: Addresses;
  readonly config: () => McpConfig;
}

/** The pages on which a key's owner sees what it spends. A link can be ended here; nothing else can be changed or bought. */
export function createAccountDoor(parts: Parts): Door {
  const { addresses, limiter } = parts;

  const route = async (asked: PageRequest, query: URLSearchParams): Promise<Response | OwnedPage> => {
    const { method, headers } = asked.request;
    if (!isAllowedHost(headers.get("host"), addresses, parts.config().allowedHosts))
      return elsewhere(addresses);
    if (!(await tryTake(limiter, signInVisits(asked.address)))) return tooMany();
    if (!methods.has(method)) return notAllowed();
    const bare = asked.path.replace(/\/$/, "");
    if (bare !== asked.path && Object.hasOwn(pages, bare)) return movedTo(bare + asked.search);
    const show = findPage(asked.path);
    if (!show) return notHere();
    return withPerson(asked, parts, {
      purpose: "See what your key spends, call by call.",
      show: async (visit) => {
        if (visit.action !== undefined && asked.path !== linksPath) return notUnderstood();
        const shown = asked.path === callsFilePath ? accountFiles : accountPages;
        if (!(await tryTake(limiter, shown(visit.key.id)))) return tooMany();
        return { page: await show(await openReader(visit, parts), query, visit), owner: visit.key.accountId };
      },
    });
  };

  const answer: AnswerVisit = ({ request, target: { path, rawQuery }, visitor }) => {
    const asked = { request, path, search: searchOf(rawQuery), address: visitor.address() };
    return route(asked, new URLSearchParams(rawQuery));
  };

  return {
    name: "a page of an account",
    find: (_request, path) =>
      path === accountPage || path.startsWith(`${accountPage}/`) ? answer : undefined,
    refuse: ({ code, status, message }) => {
      const sentence = code === "internal" ? "Something went wrong here." : message;
      return pageResponse(errorPage("Please try again", sentence), status);
    },
  };
}

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);

type Show = (reader: Reader, query: URLSearchParams, visit: SignedInVisit) => Promise<Response>;

const pages: Readonly<Record<string, Show>> = {
  [accountPage]: showOverview,
  [callsPath]: showCalls,
  [callsFilePath]: downloadCalls,
  [`${accountPage}/keys`]: showKeys,
  [linksPath]: (reader, _query, visit) => showLinks(reader, visit),
};

const receipts = `${callsPath}/`;

function findPage(path: string): Show | undefined {
  if (Object.hasOwn(pages, path)) return pages[path];
  if (!path.startsWith(receipts)) return undefined;
  return (reader) => showReceipt(reader, path.slice(receipts.length));
}

/** An address that was typed with a slash at its end. */
const movedTo = (location: string): Response => new Response(null, { status: 308, headers: { location } });

const notHere = (): Response =>
  pageResponse(
    errorPage("Not here", "There is no such page.", { path: accountPage, words: "Your account" }),
    404,
  );

const notAllowed = (): Response =>
  pageResponse(errorPage("Not here", "This method is not served here."), 405, { allow: "GET, HEAD, POST" });

const tooMany = (): Response =>
  pageResponse(errorPage("Too many pages", "Wait a minute, then try again."), 429, { "retry-after": "60" });

/** People who typed another name of this machine come here, too: a sign-in there would not count here. */
function elsewhere(addresses: Addresses): Response {
  const url = accountPageUrl(addresses);
  return pageResponse(
    { title: "Not here", body: html`<p>Your account is at <a href="${url}">${url}</a>.</p>` },
    403,
  );
}
