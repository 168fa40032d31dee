import type { Offer } from "../../offer/offer.ts";
import type { AnswerVisit, Door } from "../../platform/door.ts";
import { isGetOrHead, type SplitTarget } from "../../platform/http-request.ts";
import { refuse } from "../../platform/refusals.ts";
import { cookiesOf } from "../pages/cookies.ts";
import type { BodyReader } from "../wire/read-body.ts";
import { askDirectly } from "./ask-directly.ts";

/** Forms of the stand-in platform are a name and a few ticks. */
const formBytesMax = 64 * 1024;
const timeoutMs = 10_000;

interface Parts {
  readonly offer: () => Offer;
  readonly baseUrl: string;
  readonly bodies: BodyReader;
}

/** Links the sandbox gives to people and clients are served under our own address, so that they work as pasted. */
export function createSandboxLinks({ offer, baseUrl, bodies }: Parts): Door {
  const file =
    (url: string): AnswerVisit =>
    ({ request, target }) =>
      fetchFile(request, url + queryOf(target));

  const platformPage =
    (url: string): AnswerVisit =>
    async ({ request, target }) => {
      const form = request.method === "POST" ? await bodies.read(request, formBytesMax) : undefined;
      return visitPlatform(request, form, url + queryOf(target), `${baseUrl}/sandbox`);
    };

  return {
    name: "a page",
    find: (request, path) => {
      const { sandboxUrl } = offer();
      const [, link] = linkShape.exec(path) ?? [];
      if (sandboxUrl === undefined || link === undefined || link.includes("..")) return undefined;
      const url = `${sandboxUrl}/public/${link}`;
      if (!link.startsWith("x/")) return isGetOrHead(request) ? file(url) : undefined;
      return request.method === "GET" || request.method === "POST" ? platformPage(url) : undefined;
    },
  };
}

const linkShape = /^\/sandbox\/([\w-]+(?:\/[\w.-]+)*)$/;

const queryOf = ({ rawQuery }: SplitTarget): string => (rawQuery === "" ? "" : `?${rawQuery}`);

/** A sandbox that was stopped or hangs is no fault of the gateway's. */
const heardOf = <Heard>(sandbox: Promise<Heard>): Promise<Heard> =>
  sandbox.catch(() => refuse("provider_request_failed", "provider request failed"));

/** What a player or a program needs to know about a file. */
const fromFile = ["content-type", "content-range", "accept-ranges"] as const;

async function fetchFile(request: Request, target: string): Promise<Response> {
  const response = await heardOf(
    askDirectly(target, {
      method: "GET",
      // Nothing else of the caller's travels: not its key, not its cookies.
      headers: { "accept-encoding": "identity", ...picked(request.headers, ["range"]) },
      timeoutMs,
    }),
  );
  // Read whole: it is small, and a body that is still coming would be sent without the length that players go by.
  // The listener leaves it out of an answer to HEAD.
  return new Response(await heardOf(response.arrayBuffer()), {
    status: response.status,
    headers: { "content-type": "application/octet-stream", ...picked(response.headers, fromFile) },
  });
}

/** What a browser and the pages of the stand-in platform tell each other. A caller's key is not among it. */
const toPlatform = ["content-type", "accept", "accept-language"] as const;
const fromPlatform = [
  "content-type",
  "location",
  "cache-control",
  "content-security-policy",
  "referrer-policy",
  "x-content-type-options",
  "x-frame-options",
] as const;

async function visitPlatform(
  request: Request,
  form: Uint8Array | undefined,
  target: string,
  publicBase: string,
): Promise<Response> {
  const response = await heardOf(
    askDirectly(target, {
      method: form ? "POST" : "GET",
      headers: {
        "accept-encoding": "identity",
        // Where the browser believes to be, for the addresses on the page.
        "x-public-base": publicBase,
        ...picked(request.headers, toPlatform),
        ...platformCookies(request),
      },
      body: form,
      timeoutMs,
    }),
  );
  const headers = new Headers(picked(response.headers, fromPlatform));
  for (const cookie of response.headers.getSetCookie()) headers.append("set-cookie", cookie);
  const page = await heardOf(response.arrayBuffer());
  return new Response(page.byteLength === 0 ? null : page, { status: response.status, headers });
}

/** Without our own cookie, by which we know who is signed in here. */
function platformCookies(request: Request): { readonly cookie?: string } {
  const own = [...cookiesOf(request)].filter(([name]) => !name.includes("tollgate_browser"));
  return own.length === 0 ? {} : { cookie: own.map(([name, value]) => `${name}=${value}`).join("; ") };
}

function picked(headers: Headers, names: readonly string[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) values[name] = value;
  }
  return values;
}
