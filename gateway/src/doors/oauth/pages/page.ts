import { Html, html } from "./html.ts";

/** A page as a browser gets it: no script, nothing from elsewhere, in nobody's frame. */
export interface Page {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Options {
  /** Where a form of this page may end up besides with us: browsers hold redirects to it as well. */
  readonly formEndsAt?: string | undefined;
}

export function page(title: string, body: Html, { formEndsAt }: Options = {}): Page {
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title} · Tollgate</title>
        ${styleElement}
      </head>
      <body>
        <main>
          <p class="brand">Tollgate</p>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`;
  return {
    html: document.text,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": [
        "default-src 'none'",
        `style-src 'sha256-${styleHash}'`,
        `form-action 'self'${formEndsAt === undefined ? "" : ` ${formEndsAt}`}`,
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ].join("; "),
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
    },
  };
}

export const pageResponse = (
  made: Page,
  status = 200,
  more: Readonly<Record<string, string>> = {},
): Response => new Response(made.html, { status, headers: { ...made.headers, ...more } });

const style = `
:root { color-scheme: light dark; --ink: #1d1d1f; --paper: #f6f5f2; --card: #fff; --line: #c9c6bf; --soft: #5b5952; --mark: #1b5e4b; --on-mark: #fff; --warn: #8a3b00; --warn-paper: #fff3e6 }
@media (prefers-color-scheme: dark) { :root { --ink: #eceae4; --paper: #17181a; --card: #212327; --line: #4a4c50; --soft: #a9a69d; --mark: #7fd1b5; --on-mark: #10231c; --warn: #ffc48a; --warn-paper: #3a2a18 } }
* { box-sizing: border-box }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
main { max-width: 34rem; margin: 2rem auto; padding: 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem }
.brand { margin: 0; color: var(--soft); font-size: .875rem }
h1 { margin: .25rem 0 1rem; font-size: 1.5rem; line-height: 1.25 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; margin: 1rem 0 }
dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
label, legend { font-weight: 600 } fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 1rem 0; padding: .75rem 1rem }
input, select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .6rem }
input[type=password], input[type=text], select { width: 100%; margin: .25rem 0 .75rem }
.hint { color: var(--soft); font-size: .875rem; font-weight: 400 }
.warning { background: var(--warn-paper); color: var(--warn); border: 1px solid; border-radius: .5rem; padding: .6rem .8rem }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1rem }
button { font: inherit; font-weight: 600; padding: .6rem 1.1rem; border-radius: .4rem; border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer }
button.main { background: var(--mark); border-color: var(--mark); color: var(--on-mark) }
:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px }
table { width: 100%; border-collapse: collapse } th, td { text-align: left; vertical-align: top; padding: .4rem .5rem .4rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
code { font-size: .9em }
`;

const styleHash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
const styleElement = new Html(`<style>${style}</style>`);
