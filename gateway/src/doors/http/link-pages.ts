import type { LinkDesk } from "../../links/link-desk.ts";
import { linkPaths } from "../../links/link-parts.ts";
import type { WhyNotLinked } from "../../links/finish-link.ts";
import type { Offer } from "../../offer/offer.ts";
import { describeError, type Log } from "../../platform/log.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { cookiesOf } from "../pages/cookies.ts";
import { formFields } from "../pages/form-fields.ts";
import { html, type Html } from "../pages/html.ts";
import { pageResponse, type SmallPage } from "../pages/small-page.ts";
import type { BodyReader } from "./read-body.ts";

interface Parts {
  readonly desk: LinkDesk;
  readonly offer: () => Offer;
  readonly baseUrl: string;
  readonly bodies: BodyReader;
  readonly newId: () => string;
  readonly log: Log;
}

type Visit = (request: Request, rawQuery: string) => Promise<Response>;

/** The pages of the link flow. People come here in a browser, sent by a platform, so no key opens or closes them. */
export interface LinkPages {
  readonly find: (method: string, path: string) => Visit | undefined;
}

/** Our own forms are a few words long. */
const formBytesMax = 4_096;

export function createLinkPages(parts: Parts): LinkPages {
  const { desk, offer, bodies } = parts;
  let known = { offer: offer(), paths: linkPaths(offer()) };
  /** Every call of the gateway passes by here, so the paths are made once for each offer. */
  const pathsNow = (): ReturnType<typeof linkPaths> => {
    const now = offer();
    if (now !== known.offer) known = { offer: now, paths: linkPaths(now) };
    return known.paths;
  };

  const callback: Visit = async (request, rawQuery) => {
    const finished = await desk.finish(new URLSearchParams(rawQuery), cookiesOf(request));
    if (finished.kind === "not_linked") return page(notLinked[finished.why]);
    const { requester, user, scopes, undoToken } = finished;
    return page({
      status: 200,
      title: "Account linked",
      body: html`
        <p>
          ${user ? html`The account <strong>@${user.username}</strong>` : html`The account`} is now linked to
          the key <strong>${requester.keyName}</strong> of <strong>${requester.accountName}</strong>. Calls
          with this key can act for it, and so can clients that were let in with this key and may spend:
        </p>
        ${listOf(scopes)}
        <p>You can close this page. If you did not mean to do this, undo it now:</p>
        <form method="post" action="${parts.baseUrl}${pathsNow().undo}">
          <input type="hidden" name="token" value="${undoToken}" />
          <div class="buttons"><button>Undo</button></div>
        </form>
      `,
    });
  };

  const undo: Visit = async (request) => {
    const form = await readForm(request, bodies);
    const ended = await desk.undo(form.get("token") ?? "");
    if (!ended) return page(undoGone);
    const atPlatform =
      ended.platform === "revoked"
        ? "The platform has been told, too."
        : "The platform could not be told; you can remove the application in your settings there.";
    return page({
      status: 200,
      title: "Link undone",
      body: html`<p>The account is not linked any more, and its tokens are forgotten. ${atPlatform}</p>`,
    });
  };

  const show: Visit = async (_request, rawQuery) => {
    const state = new URLSearchParams(rawQuery).get("state") ?? "";
    const asking = await desk.show(state);
    if (asking.kind === "not_open") return page(notLinked.unknown);
    const secure = parts.baseUrl.startsWith("https:") ? "; Secure" : "";
    const cookie = `${asking.cookie}=${asking.browserToken}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax${secure}`;
    return page(
      {
        status: 200,
        title: "Link your account?",
        body: html`
          <p>
            The key <strong>${asking.requester.keyName}</strong> of
            <strong>${asking.requester.accountName}</strong> asks to act for your account, itself and through
            clients that its owner lets in:
          </p>
          ${listOf(asking.scopes)}
          <p>Go on only if you asked for this yourself. If somebody sent you here, close this page.</p>
          <form method="post" action="${parts.baseUrl}${pathsNow().confirm}">
            <input type="hidden" name="state" value="${state}" />
            <input type="hidden" name="token" value="${asking.formToken}" />
            <div class="buttons"><button class="main">Go on to the platform</button></div>
          </form>
        `,
      },
      { "set-cookie": cookie },
    );
  };

  const confirm: Visit = async (request) => {
    const form = await readForm(request, bodies);
    const given = { state: form.get("state") ?? "", formToken: form.get("token") ?? "" };
    const goesTo = await desk.confirm({ ...given, cookies: cookiesOf(request) });
    if (goesTo === undefined) return page(notLinked.other_browser);
    // Not a redirect: browsers hold a form to its page's policy through every redirect, and the platform may use several.
    return page(
      {
        status: 200,
        title: "On to the platform",
        body: html`<p><a href="${goesTo}" rel="noreferrer">Go on to the platform</a></p>`,
      },
      { refresh: `0; url=${goesTo}` },
    );
  };

  /** Whatever goes wrong is a page: somebody looks at it. */
  const safely =
    (visit: Visit): Visit =>
    async (request, rawQuery) => {
      const requestId = parts.newId();
      const response = await visit(request, rawQuery).catch((error: unknown) => {
        if (error instanceof CallRefused) return page({ ...broken, status: error.status });
        parts.log.error("a link page failed", { request_id: requestId, ...describeError(error) });
        return page(broken);
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

interface Page extends SmallPage {
  readonly status: number;
}

/** The addresses of these pages hold states and codes: no other page is told them, and none keeps a hold on these. */
const discreet = { "referrer-policy": "no-referrer", "cross-origin-opener-policy": "same-origin" } as const;

const page = ({ status, ...shown }: Page, further: Readonly<Record<string, string>> = {}): Response =>
  pageResponse(shown, status, { ...discreet, ...further });

const readForm = async (request: Request, bodies: BodyReader): Promise<URLSearchParams> =>
  formFields(await bodies.read(request, formBytesMax));

const listOf = (scopes: readonly string[]): Html =>
  html`<ul>
    ${scopes.map((scope) => html`<li><code>${scope}</code></li>`)}
  </ul>`;

const startAgain = html`<p>Nothing was linked. Ask for a new link and open it within 10 minutes.</p>`;

const sorry = (status: number, title: string, body: Html): Page => ({ status, title, body });

const notLinked: Readonly<Record<WhyNotLinked, Page>> = {
  no_state: sorry(400, "This link is not complete", startAgain),
  unknown: sorry(400, "This link is not known", startAgain),
  used: sorry(400, "This link was used already", startAgain),
  expired: sorry(400, "This link has expired", startAgain),
  other_browser: sorry(
    400,
    "This link was opened elsewhere",
    html`<p>
      It has to be confirmed and finished in the same browser. If somebody sent you here, close this page:
      nothing was linked.
    </p>`,
  ),
  key_gone: sorry(400, "The key has ended", startAgain),
  denied: sorry(400, "You said no", html`<p>Nothing was linked. You can close this page.</p>`),
  suspicious: sorry(400, "This answer did not come from the platform", startAgain),
  refused: sorry(400, "The platform did not accept it", startAgain),
  failed: sorry(
    502,
    "The platform did not answer",
    html`<p>Nothing was linked. Ask for a new link in a while; the platform may be having trouble.</p>`,
  ),
  platform_gone: sorry(503, "The platform cannot be reached from here", startAgain),
};

const undoGone = sorry(
  400,
  "There is nothing to undo",
  html`<p>
    It was undone or replaced already, or more than an hour has passed. The owner of the key can still end it.
  </p>`,
);

const broken = sorry(500, "Something went wrong", html`<p>Please try again.</p>`);
