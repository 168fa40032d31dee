import type { InlineStyle } from "./inline-style.ts";

/** For pages that are for one person alone: not cached, not framed, without scripts, loading nothing from elsewhere. */
export const privatePageHeaders = ({ digest }: InlineStyle): Record<string, string> => ({
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${digest}'`,
    "img-src data:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  // Not no-referrer: with it browsers name no origin when they send a form, and forms are told apart by it.
  "referrer-policy": "same-origin",
});
