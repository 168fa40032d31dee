// X: OAuth 2.0 with PKCE for one app, then calls with a member's own token. Errors of the token
// endpoint are OAuth's, all others are problem documents.

import { createHash, randomBytes } from "node:crypto";

import { headerValues } from "./http-wire.ts";
import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import { isObject, jsonAnswer, readJsonObject, withHeader } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble } from "./vendor-checks.ts";

/** What the platform did: a code exchanged, a token refreshed or revoked, a member read, a follow made. */
interface XBilled {
  readonly what: "authorization_code" | "refresh_token" | "revoke" | "users.me" | "follow";
}

export interface XOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly expiresInSeconds?: number;
  /** As some platforms do: a refresh token works on and on, and none is given for it. */
  readonly keepsRefreshTokens?: boolean;
}

export interface XDouble extends BookkeepingDouble<XBilled> {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly revokeUrl: string;
  /** What a member's browser does on the platform's page: where it is sent afterwards. */
  readonly agree: (authorizeUrl: string, member?: Partial<Member>) => string;
  readonly deny: (authorizeUrl: string) => string;
  /** Every token given out so far stops working; refresh tokens only when told. */
  readonly expire: (kind?: "access" | "all") => void;
  /** Tokens given out so far, as secrets to search for. */
  readonly secrets: () => readonly string[];
  /** How many of them, codes apart, work still. */
  readonly liveTokens: () => number;
}

interface Member {
  readonly id: string;
  readonly username: string;
}

interface Code {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly member: Member;
}

interface Token {
  readonly kind: "access" | "refresh";
  readonly scopes: readonly string[];
  readonly member: Member;
}

const ada: Member = { id: "2244994945", username: "ada_l" };

export const openXDouble = async ({
  clientId,
  clientSecret,
  expiresInSeconds = 7200,
  keepsRefreshTokens = false,
}: XOptions): Promise<XDouble> => {
  const book: BookEntry<XBilled>[] = [];
  const codes = new Map<string, Code>();
  const tokens = new Map<string, Token>();
  const given: string[] = [];
  const authorizeUrl = "https://x.invalid/i/oauth2/authorize";

  const note = (request: RecordedRequest, what: XBilled["what"]): void => {
    book.push({ requestId: null, billed: { what }, request });
  };

  const newToken = (token: Token): string => {
    const value = `${token.kind}-${randomBytes(24).toString("base64url")}`;
    tokens.set(value, token);
    given.push(value);
    return value;
  };

  const grant = (scopes: readonly string[], member: Member, isFirst: boolean): Answer =>
    jsonAnswer(200, {
      token_type: "bearer",
      expires_in: expiresInSeconds,
      access_token: newToken({ kind: "access", scopes, member }),
      scope: scopes.join(" "),
      ...(scopes.includes("offline.access") && (isFirst || !keepsRefreshTokens)
        ? { refresh_token: newToken({ kind: "refresh", scopes, member }) }
        : {}),
    });

  const isOurApp = ({ headers }: RecordedRequest): boolean => {
    const pair = Buffer.from(`${clientId}:${clientSecret}`).toString("base64");
    const sent = headerValues(headers, "authorization");
    return sent.length === 1 && sent[0] === `Basic ${pair}`;
  };

  const token: Handler = (request) => {
    const form = formOf(request);
    if (!isOurApp(request)) return oauthError(401, "invalid_client", "Missing valid authorization header");
    if (form?.get("client_id") !== clientId) return oauthError(400, "invalid_request", "client_id");
    if (form.get("grant_type") === "refresh_token") {
      const old = tokens.get(form.get("refresh_token") ?? "");
      if (old?.kind !== "refresh") {
        return oauthError(400, "invalid_request", "Value passed for the token was invalid.");
      }
      if (!keepsRefreshTokens) tokens.delete(form.get("refresh_token") ?? "");
      note(request, "refresh_token");
      return grant(old.scopes, old.member, false);
    }
    if (form.get("grant_type") !== "authorization_code") {
      return oauthError(400, "unsupported_grant_type", "grant_type");
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (!code || code.redirectUri !== form.get("redirect_uri") || code.challenge !== challenge) {
      return oauthError(400, "invalid_grant", "Value passed for the authorization code was invalid.");
    }
    note(request, "authorization_code");
    return grant(code.scopes, code.member, true);
  };

  const revoke: Handler = (request) => {
    const form = formOf(request);
    if (!isOurApp(request)) return oauthError(401, "invalid_client", "Missing valid authorization header");
    tokens.delete(form?.get("token") ?? "");
    note(request, "revoke");
    return jsonAnswer(200, { revoked: true });
  };

  const memberOf = (request: RecordedRequest, scopes: readonly string[]): Member | Answer => {
    const [sent = ""] = headerValues(request.headers, "authorization");
    const found = tokens.get(/^Bearer (\S+)$/.exec(sent)?.[1] ?? "");
    if (found?.kind !== "access") return problem(401, "Unauthorized", "Unauthorized");
    if (!scopes.every((scope) => found.scopes.includes(scope))) {
      return problem(403, "Forbidden", "You are not permitted to perform this action.");
    }
    return found.member;
  };

  const me: Handler = (request) => {
    const member = memberOf(request, ["tweet.read", "users.read"]);
    if ("status" in member) return member;
    note(request, "users.me");
    return jsonAnswer(200, { data: { id: member.id, name: "Ada", username: member.username } });
  };

  const follow: Handler = (request) => {
    const source = /^\/2\/users\/(\d+)\/following(?:\?|$)/.exec(request.target)?.[1];
    if (request.method !== "POST" || source === undefined) return problem(404, "Not Found", "Not Found");
    const member = memberOf(request, ["tweet.read", "users.read", "follows.write"]);
    if ("status" in member) return member;
    if (member.id !== source) return problem(403, "Forbidden", "The source is not the member of this token.");
    const body = readJsonObject(request);
    const target = isObject(body) ? body["target_user_id"] : undefined;
    if (typeof target !== "string" || !/^\d{1,19}$/.test(target)) {
      return problem(400, "Invalid Request", "target_user_id", "invalid-request");
    }
    note(request, "follow");
    const pending = target === protectedPersonId;
    const answer = jsonAnswer(200, { data: { following: !pending, pending_follow: pending } });
    return withHeader(answer, ["x-rate-limit-remaining", "49"]);
  };

  const double = await openVendorDouble({
    basePath: "/2",
    handlers: {
      "POST /2/oauth2/token": token,
      "POST /2/oauth2/revoke": revoke,
      "GET /2/users/me": me,
      "*": follow,
    },
  });

  const queryOf = (url: string): URLSearchParams => {
    if (!url.startsWith(`${authorizeUrl}?`)) throw new Error(`Not the platform's page: ${url}`);
    const query = new URL(url).searchParams;
    const wanted = { response_type: "code", client_id: clientId, code_challenge_method: "S256" };
    for (const [name, value] of Object.entries(wanted)) {
      if (query.get(name) !== value) throw new Error(`${name} is ${query.get(name)}`);
    }
    return query;
  };

  const sentBack = (query: URLSearchParams, answer: Record<string, string>): string => {
    const back = new URL(query.get("redirect_uri") ?? "");
    const entries = Object.entries({ state: query.get("state") ?? "", ...answer });
    for (const [name, value] of entries) back.searchParams.set(name, value);
    return back.href;
  };

  return {
    ...double,
    book,
    authorizeUrl,
    tokenUrl: `${double.url}/oauth2/token`,
    revokeUrl: `${double.url}/oauth2/revoke`,
    agree: (url, member = {}) => {
      const query = queryOf(url);
      const code = randomBytes(24).toString("base64url");
      given.push(code);
      codes.set(code, {
        challenge: query.get("code_challenge") ?? "",
        redirectUri: query.get("redirect_uri") ?? "",
        scopes: (query.get("scope") ?? "").split(" "),
        member: { ...ada, ...member },
      });
      return sentBack(query, { code });
    },
    deny: (url) => sentBack(queryOf(url), { error: "access_denied" }),
    expire: (kind = "access") => {
      for (const [value, known] of tokens)
        if (kind === "all" || known.kind === "access") tokens.delete(value);
    },
    secrets: () => given,
    liveTokens: () => tokens.size,
  };
};

/** Whoever wants to follow this member must be let in first. */
export const protectedPersonId = "783214";

/** Undefined when the body is not a form. */
function formOf({ headers, body }: RecordedRequest): URLSearchParams | undefined {
  const [type = ""] = headerValues(headers, "content-type");
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(type)) return undefined;
  return new URLSearchParams(new TextDecoder().decode(body));
}

const oauthError = (status: number, error: string, description: string): Answer =>
  jsonAnswer(status, { error, error_description: description });

const problem = (status: number, title: string, detail: string, type?: string): Answer =>
  jsonAnswer(status, {
    title,
    detail,
    type: type === undefined ? "about:blank" : `https://api.twitter.com/2/problems/${type}`,
    status,
  });
