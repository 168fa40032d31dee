// Small pages for people: no script, nothing loaded from anywhere, readable in light and dark.

/** Text in which every value that came from outside is escaped. */
export interface Html {
  readonly markup: string;
}

export interface Page {
  readonly status: number;
  readonly title: string;
  readonly body: Html;
}

type Value = string | Html | readonly Html[];

/** Markup as it is written; values are escaped unless they are markup themselves. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: String.raw({ raw: strings }, ...values.map(markupOf)) };
}

function markupOf(value: Value): string {
  if (typeof value === "string") return Bun.escapeHTML(value);
  return "markup" in value ? value.markup : value.map(({ markup }) => markup).join("");
}

const style = `
:root { color-scheme: light dark; font: 1.125rem/1.5 system-ui, sans-serif; }
body { margin: 0; padding: 2rem 1rem; }
main { max-width: 34rem; margin: 0 auto; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; }
button { font: inherit; padding: 0.5rem 1rem; min-height: 2.75rem; cursor: pointer; }
`;

/** Made in one piece: a blank between tag and text would change what the digest is of. */
const styleElement: Html = { markup: `<style>${style}</style>` };
const styleDigest = new Bun.CryptoHasher("sha256").update(style).digest("base64");

const headers = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${styleDigest}'`,
    "img-src data:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
} as const;

export function page(
  { status, title, body }: Page,
  further: Readonly<Record<string, string>> = {},
): Response {
  const whole = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="data:," />
        <title>${title}</title>
        ${styleElement}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `;
  return new Response(whole.markup, { status, headers: { ...headers, ...further } });
}
