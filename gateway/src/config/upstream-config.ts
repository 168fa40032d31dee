import { z } from "zod";
import { isMistral, knowsNoResponses, knowsResponses } from "../operation/vendor-addresses.ts";
import { protocolWords, usualTransport } from "../operation/vendors.ts";
import type { LinkSettings, Upstream } from "../operation/upstream.ts";
import { httpBase, httpUrl } from "./http-url.ts";
import { modelName } from "./model-config.ts";
import { count, numeric } from "./numbers.ts";
import { checkRequest, credential, ownRequestOf, requestMembers } from "./upstream-request.ts";

/** An upstream as it is written; its name is where it stands. */
export type UpstreamConfig = Omit<Upstream, "name" | "sandbox">;

/** Half of what the strictest vendor allows an account, which may have other programs that ask. */
const pollQpsUsual = 10;
/** A call keeps its place among those at once for three hours, and a stream may last two of them once it has begun. */
const timeoutMsMax = 60 * 60_000;

/**
 * As vendors' own examples write a whole address. Under it everything would be answered 404. Without a version before it, a
 * last word such as "rerank" may be the path of one's own proxy.
 */
const endsInCall =
  /\/(?:chat\/completions|models\/[^/]+:\w+|v\d\w*\/(?:completions|responses|embeddings|images\/generations|messages|rerank))\/*$/;

export const upstream = z
  .strictObject({
    protocol: z.enum(protocolWords),
    url: httpBase.refine((url) => !endsInCall.test(url), {
      error: "expected the address without what is called there, as https://host/v1: that is appended to it",
    }),
    ...requestMembers,
    quota_rpm: count.optional(),
    poll_qps: numeric(z.number().positive().max(10_000)).optional(),
    timeout_ms: numeric(z.number().int().positive().max(timeoutMsMax)).optional(),
    transport: z.enum(["native", "managed"]).optional(),
    weight: numeric(z.number().positive()).optional(),
    on_caller_left: z.enum(["drain", "abort"]).optional(),
    hosted_tools: z.enum(["refuse", "allow"]).optional(),
    output_limit: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
    stream_usage: z.enum(["ask", "never"]).optional(),
    responses: z.enum(["native", "translated"]).optional(),
    models: z.array(modelName).optional(),
    authorize_url: httpUrl.optional(),
    token_url: httpUrl.optional(),
    revoke_url: httpUrl.optional(),
    issuer: httpUrl.optional(),
    client_id: credential.optional(),
    client_secret: credential.optional(),
  })
  .superRefine(checkRequest)
  .transform((written): UpstreamConfig => ({
    protocol: written.protocol,
    url: written.url.replace(/\/+$/, ""),
    ...ownRequestOf(written),
    quotaRpm: written.quota_rpm,
    pollQps: written.poll_qps ?? pollQpsUsual,
    timeoutMs: written.timeout_ms,
    transport: written.transport ?? usualTransport(written.protocol),
    weight: written.weight ?? 1,
    onCallerLeft: written.on_caller_left ?? "drain",
    hostedTools: written.hosted_tools ?? "refuse",
    outputLimit: written.output_limit,
    streamUsage: written.stream_usage ?? streamUsageUsual(written),
    responses: written.responses ?? responsesUsual(written),
    models: written.models && new Set(written.models),
    link: linkSettingsOf(written),
  }));

/** Mistral tells it unasked, and has refused to be asked. */
const streamUsageUsual = (written: Pick<Upstream, "url">): Upstream["streamUsage"] =>
  isMistral(written) ? "never" : "ask";

function responsesUsual(written: Pick<Upstream, "url">): Upstream["responses"] {
  if (knowsNoResponses(written)) return "translated";
  return knowsResponses(written) ? "native" : undefined;
}

function linkSettingsOf(written: {
  readonly authorize_url?: string | undefined;
  readonly token_url?: string | undefined;
  readonly revoke_url?: string | undefined;
  readonly issuer?: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}): LinkSettings | undefined {
  const { authorize_url: authorizeUrl, token_url: tokenUrl, client_id: clientId } = written;
  if (authorizeUrl === undefined || tokenUrl === undefined || clientId === undefined) return undefined;
  return {
    authorizeUrl,
    tokenUrl,
    clientId,
    revokeUrl: written.revoke_url,
    clientSecret: written.client_secret,
    issuer: written.issuer ?? new URL(authorizeUrl).origin,
    // Whoever knows the server's name well enough to write it down has seen that it tells it.
    saysIssuer: written.issuer !== undefined,
  };
}
