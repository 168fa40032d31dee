import type { InlineStyle } from "./inline-style.ts";

/** For pages that are one person's: kept nowhere, in nobody's frame, without scripts, loading nothing from anywhere. */
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
