import type { Addresses } from "./config/addresses.ts";
import type { Doors } from "./doors/create-doors.ts";
import { answerPreflight } from "./doors/http/preflight.ts";
import type { BodyReader } from "./doors/http/read-body.ts";
import { followSandboxLink } from "./doors/http/sandbox-links.ts";
import type { Offer } from "./offer/offer.ts";
import type { InFlight } from "./platform/in-flight.ts";
import { isEventStream } from "./platform/event-stream.ts";
import { describeError, type Log } from "./platform/log.ts";
import { CallRefused } from "./platform/refusals.ts";
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
export function createFrontDoor(parts: Parts): (request: Request, visitor: Visitor) => Promise<Response> {
  const { calls, agents, linkPages, signIn, account, pages, site, website } = parts;
  const { offer, addresses, bodies, newId, inFlight, log } = parts;

  const serve = (request: Request, visitor: Visitor): Promise<Response> => {
    const target = splitTarget(request.url);
    const { path, rawQuery } = target;
    const broken = brokenRequest(request);
    if (broken) return attend(visitor, closing(calls.refuse(broken, path)));
    // People come to these from a platform, without a key, so they are found before a key is asked for.
    const linkPage = linkPages.find(request.method, path);
    if (linkPage) return attend(visitor, linkPage(request, rawQuery));
    if (agents.serves(path, request)) return attend(visitor, agents.answer(request, visitor));
    if (!isApiPath(path)) return attend(visitor, servePage(request, target, visitor));
    const preflight = answerPreflight(request, newId);
    return preflight ? attend(visitor, preflight) : calls.answer(request, target, visitor);
  };

  /** The door for calls attends to its visitors itself: whatever is done around every call is worth a promise less. */
  const attend = async (visitor: Visitor, answer: Response | Promise<Response>): Promise<Response> => {
    inFlight.calls++;
    try {
      const response = await answer;
      const streams = isEventStream(response.headers.get("content-type") ?? undefined);
      return visitor.answered(response, streams ? "streamed" : "whole");
    } finally {
      inFlight.calls--;
    }
  };

  /** Every answer has a name by which it can be asked about, also one that went wrong. */
  const servePage: typeof findPage = async (request, target, visitor) => {
    try {
      const response = await findPage(request, target, visitor);
      if (!response.headers.has("x-request-id")) response.headers.set("x-request-id", newId());
      return response;
    } catch (error) {
      if (error instanceof CallRefused) return calls.refuse(error, target.path);
      log.error("a page failed unexpectedly", { path: target.path, ...describeError(error) });
      return calls.refuse(new CallRefused("internal", "internal error"), target.path);
    }
  };

  const findPage = async (
    request: Request,
    { path, rawQuery }: { readonly path: string; readonly rawQuery: string },
    visitor: Visitor,
  ): Promise<Response> => {
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

function splitTarget(url: string): { path: string; rawQuery: string } {
  // HTTP/1.0 without a Host leaves the bare path; everything else arrives as an absolute address.
  const start = url.startsWith("/") ? 0 : Math.max(0, url.indexOf("/", url.indexOf("://") + 3));
  const fragment = url.indexOf("#");
  const end = fragment === -1 ? url.length : fragment;
  const question = url.indexOf("?");
  if (question === -1 || question > end) return { path: url.slice(start, end), rawQuery: "" };
  return { path: url.slice(start, question), rawQuery: url.slice(question + 1, end) };
}

/** Two readers may see different ends of this request, so nothing after it can be trusted. */
function closing(response: Response): Response {
  response.headers.set("connection", "close");
  return response;
}

/** Nobody needs more; the HTTP parser itself would take twice as many. One that comes again under its name counts once. */
const headersMax = 100;

/** What the HTTP parser lets through although two readers could understand it differently, or it is too much. */
function brokenRequest(request: Request): CallRefused | undefined {
  if (request.method === "CONNECT" || request.method === "TRACE") {
    return new CallRefused("method_not_allowed", "this method is not served");
  }
  if (request.headers.count > headersMax) {
    return new CallRefused("headers_too_large", `the request has more than ${headersMax} headers`);
  }
  const host = request.headers.get("host");
  if (host?.includes(",") === true) {
    return new CallRefused("invalid_parameters", "Host: given more than once");
  }
  // An address is made of the Host where that is possible; HTTP/1.0 may come without one.
  if (host !== null && request.url.startsWith("/")) {
    return new CallRefused("invalid_parameters", "Host: expected an address");
  }
  if (request.headers.get("content-length")?.includes(",") === true) {
    return new CallRefused("invalid_parameters", "Content-Length: given more than once");
  }
  return undefined;
}
