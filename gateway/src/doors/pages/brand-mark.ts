import { html } from "./html.ts";

/** A gate, drawn with the text's own colour. */
export const brandMark = html`<svg
  viewBox="0 0 32 32"
  width="26"
  height="26"
  aria-hidden="true"
  focusable="false"
>
  <path
    d="M6 27V13a10 10 0 0 1 20 0v14"
    fill="none"
    stroke="currentColor"
    stroke-width="3"
    stroke-linecap="round"
  />
  <path d="M3 19h26" stroke="currentColor" stroke-width="3" stroke-linecap="round" />
  <circle cx="16" cy="19" r="3.4" fill="currentColor" />
</svg>`;
