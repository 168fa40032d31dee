import type { Content } from "./content.ts";

/** Answers with content in the coding this reader takes best, or says that the reader has it already. */
export function respond(content: Content, request: Request, status = 200): Response {
  const { contentType, etag } = content;
  const headers: Record<string, string> = {
    ...everywhere,
    ...content.headers,
    etag,
    vary: "accept, accept-encoding",
  };
  if (status === 200 && isKnown(request.headers.get("if-none-match"), etag)) {
    return new Response(null, { status: 304, headers });
  }
  headers["content-type"] = contentType;
  const accepted = request.headers.get("accept-encoding") ?? "";
  const coding = takes(accepted, "br") ? "br" : takes(accepted, "gzip") ? "gzip" : undefined;
  if (coding !== undefined) headers["content-encoding"] = coding;
  const bytes = coding === "br" ? content.brotli() : coding === "gzip" ? content.gzip() : content.plain();
  return new Response(bytes, { status, headers });
}

const everywhere = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
} as const;

const isKnown = (sent: string | null, etag: string): boolean =>
  (sent ?? "").split(",").some((one) => one.trim() === etag || one.trim() === "*");

const takes = (accepted: string, coding: string): boolean =>
  accepted
    .split(",")
    .map((one) => one.trim().toLowerCase())
    .some((one) => one.split(";")[0] === coding && !/;\s*q=0(\.0*)?$/.test(one));
