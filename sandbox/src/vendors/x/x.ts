// X, the platform: an authorization server that members visit, and the calls an app may make for them.

import type { ShelfFile } from "../../shelf-file.ts";
import {
  bearerOf,
  parseObject,
  type JsonObject,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
} from "../../vendor.ts";
import { personById, type Person } from "./persons.ts";
import { createPlatform } from "./platform.ts";
import { createTokenStore } from "./token-store.ts";

export interface X extends Vendor {
  /** The pages that a person's browser opens; `path` is below the public `/x`. */
  readonly visit: (request: Request, path: string) => Promise<Response>;
  /** Tokens given out so far stop working now. The answer is how many. */
  readonly expire: (tokens: "access" | "all") => number;
  /** The next authorization response claims to come from this issuer; undefined: from the true one. */
  readonly claimIssuer: (issuer: string | undefined) => void;
}

interface XOptions {
  readonly publicUrl: string;
  readonly file: ShelfFile | undefined;
}

export function createX({ publicUrl, file }: XOptions): X {
  const store = createTokenStore(file);
  const platform = createPlatform(publicUrl, store);
  let claimedIssuer: string | undefined;

  const answer = async (call: VendorCall): Promise<VendorAnswer> => {
    const { method, path } = call;
    if (isOAuth(path)) {
      if (method !== "POST") return refuse(405, "Method Not Allowed", path);
      return answerOAuth(call);
    }

    const sourceId = /^\/2\/users\/([^/]+)\/following$/.exec(path)?.[1];
    if (!(method === "GET" && path === "/2/users/me") && !(method === "POST" && sourceId !== undefined)) {
      return refuse(404, "Not Found");
    }
    const token = await platform.tokenOf(bearerOf(call.headers) ?? "");
    const person = personById(token?.personId ?? "");
    if (token === undefined || person === undefined) return refuse(401, "Unauthorized");

    const needed = sourceId === undefined ? ["users.read"] : ["tweet.read", "users.read", "follows.write"];
    if (!needed.every((scope) => token.scopes.has(scope))) return refuse(403, "Forbidden");
    return sourceId === undefined ? showPerson(person) : follow(person, sourceId, call.body);
  };

  const answerOAuth = async ({ path, method, headers, body }: VendorCall): Promise<VendorAnswer> => {
    const response = await platform.ask(publicUrl, path.slice("/2".length), { method, headers, body });
    const text = await response.text();
    // The platform says what it did where the library, as the RFC allows, says nothing; and it writes `bearer`.
    const given = text === "" ? { revoked: true } : parseObject(text);
    if (given === undefined) throw new Error(`the authorization server answered ${text}`);
    const isToken = given["token_type"] === "Bearer";
    return {
      status: response.status,
      body: isToken ? { ...given, token_type: "bearer" } : given,
      billed: response.ok ? billedFor(path, body) : null,
      headers: { "cache-control": "no-store" },
    };
  };

  return {
    answer,
    refuse,

    async visit(request, path) {
      const isPage = /^\/(oauth2\/authorize(\/[\w-]+)?|interaction\/[\w-]+)$/.test(path);
      if (!isPage || !["GET", "POST"].includes(request.method)) return new Response(null, { status: 404 });

      const { search } = new URL(request.url);
      const { method, headers } = request;
      const base = baseOf(headers.get("x-public-base")) ?? publicUrl;
      const response = await platform.ask(base, path + search, {
        method,
        headers,
        body: await request.text(),
      });
      return claimedIssuer === undefined ? response : withIssuer(response);
    },

    expire(tokens) {
      return store.forget("AccessToken") + (tokens === "all" ? store.forget("RefreshToken") : 0);
    },

    claimIssuer(issuer) {
      claimedIssuer = issuer;
    },
  };

  function withIssuer(response: Response): Response {
    const location = URL.parse(response.headers.get("location") ?? "");
    if (location === null || claimedIssuer === undefined || !location.searchParams.has("iss"))
      return response;
    location.searchParams.set("iss", claimedIssuer);
    claimedIssuer = undefined;
    response.headers.set("location", location.href);
    return response;
  }
}

const isOAuth = (path: string): boolean => path === "/2/oauth2/token" || path === "/2/oauth2/revoke";

/** Tells a first exchange from a refresh in the book. */
const billedFor = (path: string, body: string): Record<string, number> =>
  path.endsWith("/revoke")
    ? { revocations: 1 }
    : { [new URLSearchParams(body).get("grant_type") ?? "unknown"]: 1 };

const showPerson = ({ id, name, username }: Person): VendorAnswer => ({
  status: 200,
  body: { data: { id, name, username } },
  billed: { reads: 1 },
});

function follow(person: Person, sourceId: string, body: string): VendorAnswer {
  if (sourceId !== person.id) {
    return refuse(403, "The id in the path must be that of the member the token speaks for.");
  }
  const target = parseObject(body)?.["target_user_id"];
  if (typeof target !== "string" || !/^\d{1,19}$/.test(target)) return refuseTarget(target);
  if (target === person.id) return refuse(403, "You cannot follow yourself.");

  const pending = personById(target)?.isProtected === true;
  return {
    status: 200,
    body: { data: { following: !pending, pending_follow: pending } },
    billed: { follows: 1 },
  };
}

/** As OAuth errors on the token's paths, as problem documents on all others. */
const refuse = (status: number, message: string, path = ""): VendorAnswer => ({
  status,
  body: isOAuth(path)
    ? { error: status >= 500 ? "server_error" : "invalid_request", error_description: message }
    : problem(status, message),
  billed: null,
});

const refuseTarget = (target: unknown): VendorAnswer => ({
  status: 400,
  body: {
    errors: [
      {
        parameters: { target_user_id: [String(target)] },
        message: "The `target_user_id` must be a number as a string of up to 19 digits.",
      },
    ],
    title: "Invalid Request",
    detail: "One or more parameters to your request was invalid.",
    type: "https://api.twitter.com/2/problems/invalid-request",
    status: 400,
  },
  billed: null,
});

const titles: Readonly<Record<number, string>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  429: "Too Many Requests",
  503: "Service Unavailable",
};

const problem = (status: number, detail: string): JsonObject => ({
  title: titles[status] ?? "Error",
  detail,
  type: "about:blank",
  status,
});

/** Undefined when it is no address. */
function baseOf(text: string | null): string | undefined {
  const url = text === null ? null : URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href.replace(/\/+$/, "") : undefined;
}
