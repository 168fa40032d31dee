import type { LinkDesk } from "../../links/link-desk.ts";
import { linkPaths } from "../../links/link-parts.ts";
import type { Offer } from "../../offer/offer.ts";
import { describeError, type Log } from "../../platform/log.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { cookiesOf } from "../pages/cookies.ts";
import { formFields } from "../pages/form-fields.ts";
import { pageResponse } from "../pages/small-page.ts";
import {
  brokenPage,
  confirmPage,
  linkedPage,
  nothingToUndoPage,
  notLinkedPages,
  onwardPage,
  undonePage,
  type LinkPage,
} from "./link-page-words.ts";
import type { BodyReader } from "../wire/read-body.ts";

interface Parts {
  readonly desk: LinkDesk;
  readonly offer: () => Offer;
  readonly baseUrl: string;
  readonly bodies: BodyReader;
  readonly newId: () => string;
  readonly log: Log;
}

type AnswerPage = (request: Request, rawQuery: string) => Promise<Response>;

/** The pages of the link flow. People come here in a browser, sent by a platform, so no key opens or closes them. */
export interface LinkPages {
  readonly find: (method: string, path: string) => AnswerPage | undefined;
}

/** Our own forms are a few words long. */
const formBytesMax = 4_096;

export function createLinkPages(parts: Parts): LinkPages {
  const { desk, offer, bodies, baseUrl } = parts;
  let known = { offer: offer(), paths: linkPaths(offer()) };
  /** Every call of the gateway passes by here, so the paths are made once for each offer. */
  const pathsNow = (): ReturnType<typeof linkPaths> => {
    const now = offer();
    if (now !== known.offer) known = { offer: now, paths: linkPaths(now) };
    return known.paths;
  };

  const show: AnswerPage = async (_request, rawQuery) => {
    const state = new URLSearchParams(rawQuery).get("state") ?? "";
    const asking = await desk.show(state);
    if (asking.kind === "not_open") return respond(notLinkedPages.unknown);
    const secure = baseUrl.startsWith("https:") ? "; Secure" : "";
    const cookie = `${asking.cookie}=${asking.browserToken}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax${secure}`;
    const page = confirmPage(asking, { state, confirmUrl: baseUrl + pathsNow().confirm });
    return respond(page, { "set-cookie": cookie });
  };

  const confirm: AnswerPage = async (request) => {
    const form = await readForm(request, bodies);
    const given = { state: form.get("state") ?? "", formToken: form.get("token") ?? "" };
    const goesTo = await desk.confirm({ ...given, cookies: cookiesOf(request) });
    if (goesTo === undefined) return respond(notLinkedPages.other_browser);
    // Not a redirect: browsers hold a form to its page's policy through every redirect, and the platform may use several.
    return respond(onwardPage(goesTo), { refresh: `0; url=${goesTo}` });
  };

  const callback: AnswerPage = async (request, rawQuery) => {
    const finished = await desk.finish(new URLSearchParams(rawQuery), cookiesOf(request));
    if (finished.kind === "not_linked") return respond(notLinkedPages[finished.why]);
    return respond(linkedPage(finished, baseUrl + pathsNow().undo));
  };

  const undo: AnswerPage = async (request) => {
    const form = await readForm(request, bodies);
    const ended = await desk.undo(form.get("token") ?? "");
    return respond(ended ? undonePage(ended) : nothingToUndoPage);
  };

  /** Whatever goes wrong is a page: somebody looks at it. */
  const safely =
    (answer: AnswerPage): AnswerPage =>
    async (request, rawQuery) => {
      const requestId = parts.newId();
      const response = await answer(request, rawQuery).catch((error: unknown) => {
        if (error instanceof CallRefused) return respond({ ...brokenPage, status: error.status });
        parts.log.error("a link page failed", { request_id: requestId, ...describeError(error) });
        return respond(brokenPage);
      });
      response.headers.set("x-request-id", requestId);
      return response;
    };

  return {
    find: (method, path) => {
      const paths = pathsNow();
      if (path === paths.callback && method === "GET") return safely(callback);
      if (path === paths.undo && method === "POST") return safely(undo);
      if (path !== paths.confirm) return undefined;
      if (method === "GET") return safely(show);
      return method === "POST" ? safely(confirm) : undefined;
    },
  };
}

/** The addresses of these pages hold states and codes: no other page is told them, and none keeps a hold on these. */
const discreet = { "referrer-policy": "no-referrer", "cross-origin-opener-policy": "same-origin" } as const;

const respond = ({ status, ...shown }: LinkPage, further: Readonly<Record<string, string>> = {}): Response =>
  pageResponse(shown, status, { ...discreet, ...further });

const readForm = async (request: Request, bodies: BodyReader): Promise<URLSearchParams> =>
  formFields(await bodies.read(request, formBytesMax));
