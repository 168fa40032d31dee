import type { Addresses } from "./config/addresses.ts";
import type { Doors } from "./doors/create-doors.ts";
import { answerPreflight } from "./doors/http/preflight.ts";
import type { BodyReader } from "./doors/wire/read-body.ts";
import { followSandboxLink } from "./doors/http/sandbox-links.ts";
import type { Offer } from "./offer/offer.ts";
import { splitTarget, type HttpRequest, type SplitTarget } from "./platform/http-request.ts";
import type { InFlight } from "./platform/in-flight.ts";
import { describeError, type Log } from "./platform/log.ts";
import { CallRefused } from "./platform/refusals.ts";
import type { Reply } from "./platform/reply.ts";
import type { Visitor } from "./platform/visitor.ts";

interface Parts extends Doors {
  readonly offer: () => Offer;
  readonly addresses: Addresses;
  readonly bodies: BodyReader;
  readonly newId: () => string;
  readonly inFlight: InFlight;
  readonly log: Log;
}

/** Leads each request to the door it is meant for. */
export function createFrontDoor(
  parts: Parts,
): (request: HttpRequest, visitor: Visitor) => Promise<Reply | Response> {
  const { calls, agents, linkPages, signIn, account, pages, site, website } = parts;
  const { offer, addresses, bodies, newId, inFlight, log } = parts;

  const serve = (request: HttpRequest, visitor: Visitor): Promise<Reply | Response> => {
    const target = splitTarget(request.target);
    const { path, rawQuery } = target;
    const broken = brokenRequest(request);
    if (broken) return attend({ ...calls.refuse(broken, path), closes: true });
    // People come to these from a platform, without a key, so they are found before a key is asked for.
    const linkPage = linkPages.find(request.method, path);
    if (linkPage) return attend(linkPage(request.toRequest(), rawQuery));
    if (agents.serves(path, request.headers)) return attend(agents.answer(request.toRequest(), visitor));
    if (!isApiPath(path)) return attend(servePage(request.toRequest(), target, visitor));
    const preflight = answerPreflight(request, newId);
    return preflight ? attend(preflight) : calls.answer(request, target, visitor);
  };

  /** The door for calls counts them itself: whatever is done around every call is worth a promise less. */
  const attend = async (answer: Reply | Response | Promise<Reply | Response>): Promise<Reply | Response> => {
    inFlight.calls++;
    try {
      return await answer;
    } finally {
      inFlight.calls--;
    }
  };

  /** Every answer has a name by which it can be asked about, also one that went wrong. */
  const servePage = async (
    request: Request,
    target: SplitTarget,
    visitor: Visitor,
  ): Promise<Reply | Response> => {
    const id = newId();
    try {
      const response = await findPage(request, target, visitor);
      if (response instanceof Response && !response.headers.has("x-request-id"))
        response.headers.set("x-request-id", id);
      return response;
    } catch (error) {
      if (error instanceof CallRefused) return calls.refuse(error, target.path, id);
      log.error("a page failed unexpectedly", { request_id: id, path: target.path, ...describeError(error) });
      return calls.refuse(new CallRefused("internal", "internal error"), target.path, id);
    }
  };

  const findPage = async (
    request: Request,
    { path, rawQuery }: SplitTarget,
    visitor: Visitor,
  ): Promise<Reply | Response> => {
    for (const door of [signIn, account]) {
      if (door.owns(path)) return door.answer(request, { path, rawQuery }, visitor.address());
    }
    const reads = request.method === "GET" || request.method === "HEAD";
    const page = reads ? pages.find(path) : undefined;
    if (page) return page(request, visitor.address());
    const read = reads ? (site.find(path) ?? website.find(path)) : undefined;
    if (read) return read(request, rawQuery);
    const linked = path.startsWith("/sandbox/")
      ? await followSandboxLink(
          request,
          { path, rawQuery },
          { offer: offer(), baseUrl: addresses.baseUrl, bodies },
        )
      : undefined;
    if (linked) return linked;
    const refusal = new CallRefused("unknown_endpoint", "api endpoint not found");
    return website.notFound(request, path) ?? calls.refuse(refusal, path);
  };

  return serve;
}

/** Where a credential is asked for before anything else, whether the path exists or not. */
const isApiPath = (path: string): boolean =>
  path.startsWith("/v1/") ||
  path.startsWith("/v1beta/") ||
  path.startsWith("/apis/v1/") ||
  apiRoots.has(path);

const apiRoots: ReadonlySet<string> = new Set(["/v1", "/v1beta", "/apis/v1"]);

/** Nobody needs more. */
const headersMax = 100;

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** What no door should have to look at. */
function brokenRequest(request: HttpRequest): CallRefused | undefined {
  const { fault } = request;
  if (fault) return new CallRefused(fault.code, fault.message);
  if (!methods.has(request.method)) return new CallRefused("method_not_allowed", "this method is not served");
  if (request.headers.areMoreThan(headersMax)) {
    return new CallRefused("headers_too_large", `the request has more than ${headersMax} headers`);
  }
  return undefined;
}
