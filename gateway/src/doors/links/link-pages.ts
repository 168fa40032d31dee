import type { LinkDesk } from "../../links/link-desk.ts";
import { linkPaths } from "../../links/link-parts.ts";
import type { Offer } from "../../offer/offer.ts";
import type { AnswerVisit, Door } from "../../platform/door.ts";
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
}

/** Our own forms are a few words long. */
const formBytesMax = 4_096;

/** The pages of the link flow. People come here in a browser, sent by a platform, so no key opens or closes them. */
export function createLinkPages({ desk, offer, bodies, baseUrl }: Parts): Door {
  let known = { offer: offer(), paths: linkPaths(offer()) };
  /** Every call of the gateway passes by here, so the paths are made once for each offer. */
  const pathsNow = (): ReturnType<typeof linkPaths> => {
    const now = offer();
    if (now !== known.offer) known = { offer: now, paths: linkPaths(now) };
    return known.paths;
  };

  const show: AnswerVisit = async ({ request, target }) => {
    const state = new URLSearchParams(target.rawQuery).get("state") ?? "";
    const asking = await desk.show(state, cookiesOf(request));
    if (asking.kind === "not_open") return respond(notLinkedPages[asking.why]);
    const secure = baseUrl.startsWith("https:") ? "; Secure" : "";
    const cookie = `${asking.cookie}=${asking.browserToken}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax${secure}`;
    const page = confirmPage(asking, { state, confirmUrl: baseUrl + pathsNow().confirm });
    return respond(page, { "set-cookie": cookie });
  };

  const confirm: AnswerVisit = async ({ request }) => {
    const form = await readForm(request, bodies);
    const given = { state: form.get("state") ?? "", formToken: form.get("token") ?? "" };
    const confirmed = await desk.confirm({ ...given, cookies: cookiesOf(request) });
    if (confirmed.kind === "not_open") return respond(notLinkedPages[confirmed.why]);
    const { platformUrl } = confirmed;
    // Not a redirect: browsers hold a form to its page's policy through every redirect, and the platform may use several.
    return respond(onwardPage(platformUrl), { refresh: `0; url=${platformUrl}` });
  };

  const callback: AnswerVisit = async ({ request, target }) => {
    const finished = await desk.finish(new URLSearchParams(target.rawQuery), cookiesOf(request));
    if (finished.kind === "not_linked") return respond(notLinkedPages[finished.why]);
    return respond(linkedPage(finished, baseUrl + pathsNow().undo));
  };

  const undo: AnswerVisit = async ({ request }) => {
    const form = await readForm(request, bodies);
    const ended = await desk.undo(form.get("token") ?? "");
    return respond(ended ? undonePage(ended) : nothingToUndoPage);
  };

  return {
    name: "a link page",
    find: ({ method }, path) => {
      const paths = pathsNow();
      if (path === paths.callback && method === "GET") return callback;
      if (path === paths.undo && method === "POST") return undo;
      if (path !== paths.confirm) return undefined;
      if (method === "GET") return show;
      return method === "POST" ? confirm : undefined;
    },
    refuse: ({ status }) => respond(brokenPage(status)),
  };
}

/** The addresses of these pages hold states and codes: no other page is told them, and none keeps a hold on these. */
const discreet = { "referrer-policy": "no-referrer", "cross-origin-opener-policy": "same-origin" } as const;

const respond = ({ status, ...shown }: LinkPage, further: Readonly<Record<string, string>> = {}): Response =>
  pageResponse(shown, status, { ...discreet, ...further });

const readForm = async (request: Request, bodies: BodyReader): Promise<URLSearchParams> =>
  formFields(await bodies.read(request, formBytesMax));
