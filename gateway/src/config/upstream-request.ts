// What the requests to an upstream carry of the operator's own: the key and where it travels, headers, parameters.

import { z } from "zod";
import { usualKeyHeader, type ProtocolWord } from "../operation/vendors.ts";
import type { OwnQuery, Upstream } from "../operation/upstream.ts";
import { addressSecrets } from "./address-secrets.ts";
import { lookLikeSecrets } from "./look-like-secrets.ts";

/** Mounted secrets tend to end in a line break, with which no request can be written and every vendor seems unreachable. */
export const unsendable = "has characters that cannot be sent; is there a line break at its end? Remove it";

const value = z
  .string("expected a text; put it in quotes")
  .refine((written) => written === written.trim() || /[\r\n]/.test(written), {
    error: "begins or ends with a space; remove it",
  })
  .refine((written) => !/^\$[A-Z][A-Z0-9_]*$/.test(written), {
    error: "looks like the name of an environment variable; write it as ${NAME}",
  });

export const credential = value
  .min(1, "expected a key; is its environment variable set?")
  .refine((written) => !/^(["']).*\1$/.test(written), {
    error: "stands in quotes, which would be sent with it; remove them (docker --env-file keeps them)",
  })
  .regex(/^[\x20-\x7e]*$/, unsendable);

/** Far more than vendors ask for, and far less than their servers take. */
const headersMax = 16;
const parametersMax = 16;
const nameLengthMax = 64;
const valueLengthMax = 4_096;

const filledValue = value
  .min(1, "expected a value; is its environment variable set?")
  .max(valueLengthMax, `expected at most ${valueLengthMax} characters`);

/** What HTTP/1.1 can say: Latin letters, and nothing that would end the header. */
const headerValue = filledValue.regex(/^[\t\x20-\x7e\x80-\xff]*$/, unsendable);

const parameterValue = filledValue.regex(/^\P{C}*$/u, unsendable);

const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, "expected the name of a header: letters, digits and -")
  .max(nameLengthMax, `expected at most ${nameLengthMax} characters`);

const parameterName = z
  .string()
  .regex(/^\P{C}+$/u, "expected the name of a parameter")
  .max(nameLengthMax, `expected at most ${nameLengthMax} characters`);

const noMoreThan = (most: number) =>
  [
    (written: object): boolean => Object.keys(written).length <= most,
    { error: `expected at most ${most}` },
  ] as const;

/** Members of an upstream in the file. */
export const requestMembers = {
  key: credential.optional(),
  key_header: headerName.optional(),
  headers: z
    .record(headerName, headerValue)
    .refine(...noMoreThan(headersMax))
    .nullish(),
  query: z
    .record(parameterName, parameterValue)
    .refine(...noMoreThan(parametersMax))
    .nullish(),
};

interface Written {
  readonly protocol: ProtocolWord;
  readonly url: string;
  readonly key?: string | undefined;
  readonly key_header?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  readonly query?: Readonly<Record<string, string>> | null | undefined;
}

/** They frame a message or belong to one connection. */
const framing =
  "host content-length content-type content-encoding transfer-encoding trailer expect " +
  "connection keep-alive proxy-connection proxy-authenticate proxy-authorization te upgrade http2-settings";

/** They ask for another answer than the one that is metered. */
const answering =
  "accept accept-encoding range if-range if-match if-none-match if-modified-since if-unmodified-since";

/** They say what only the gateway knows of a request. */
const naming = "x-request-id idempotency-key anthropic-version x-dashscope-async";

const gatewaysHeaders: ReadonlySet<string> = new Set(`${framing} ${answering} ${naming}`.split(" "));

/** Parameters by which the gateway chooses how a vendor answers. */
const gatewaysParameters: Readonly<Partial<Record<ProtocolWord, string>>> = { gemini: "alt" };

/** Refuses what would not be sent as it is written. */
export function checkRequest(written: Written, context: z.core.$RefinementCtx): void {
  const refuse = (path: readonly string[], message: string): void =>
    context.addIssue({ code: "custom", path: [...path], message });
  const { protocol, key, key_header: wanted } = written;
  const keyHeader = keyHeaderOf(written);

  if (wanted !== undefined && protocol === "x")
    refuse(["key_header"], "protocol x takes the tokens of linked accounts in authorization, and no key");
  else if (wanted !== undefined && key === undefined)
    refuse(["key_header"], "there is no key to send in it; write key, or remove this");
  if (key !== undefined && keyHeader === "authorization" && /^bearer /i.test(key))
    refuse(["key"], "begins with Bearer, which the gateway writes itself; remove that word");
  if (wanted !== undefined && gatewaysHeaders.has(keyHeader))
    refuse(["key_header"], "the gateway writes this header itself; the key needs another one");

  const seen = new Set<string>();
  for (const name of Object.keys(written.headers ?? {})) {
    const lower = name.toLowerCase();
    const place = ["headers", name];
    if (gatewaysHeaders.has(lower)) refuse(place, "the gateway writes this header itself; remove it");
    else if (lower === keyHeader && protocol === "x")
      refuse(place, "the token of the linked account travels in this header; remove it");
    else if (lower === keyHeader && key !== undefined)
      refuse(place, "the key travels in this header; remove it, or name another one as key_header");
    if (seen.has(lower)) refuse(place, "written twice; the name of a header has no case");
    seen.add(lower);
  }

  const taken = gatewaysParameters[protocol];
  for (const name of Object.keys(written.query ?? {})) {
    if (name.toLowerCase() === taken)
      refuse(["query", name], "the gateway writes this parameter itself; remove it");
  }
}

type OwnRequest = Pick<Upstream, "key" | "keyHeader" | "headers" | "query" | "secrets">;

/** As it is sent, so that nothing is left to do for a call. */
export function ownRequestOf(written: Written): OwnRequest {
  const { key = "" } = written;
  const headers = Object.entries(written.headers ?? {});
  const parameters = Object.entries(written.query ?? {});
  return {
    key,
    keyHeader: keyHeaderOf(written),
    headers:
      headers.length === 0
        ? undefined
        : Object.freeze(Object.fromEntries(headers.map(([name, said]) => [name.toLowerCase(), said]))),
    query: parameters.length === 0 ? undefined : ownQueryOf(parameters),
    secrets: [
      ...(key === "" ? [] : [key]),
      ...addressSecrets(written.url),
      ...lookLikeSecrets([...headers, ...parameters]),
    ],
  };
}

const keyHeaderOf = ({ protocol, key_header: wanted }: Written): string =>
  wanted?.toLowerCase() ?? usualKeyHeader(protocol);

const ownQueryOf = (parameters: readonly (readonly [string, string])[]): OwnQuery => ({
  text: parameters.map((pair) => pair.map(encodeURIComponent).join("=")).join("&"),
  names: new Set(parameters.map(([name]) => name.toLowerCase())),
});
