import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Html } from "./html.ts";

/** The site's own colours and type, so that these pages are known as ours; inside the page, so that it loads nothing. */
export interface InlineStyle {
  readonly element: Html;
  /** What the page's policy lets in: these very bytes. */
  readonly digest: string;
}

/** Files of the site's folder, read in their order. */
export function inlineStyle(files: readonly string[]): InlineStyle {
  const style = files.map(siteFile).join("");
  return {
    // Made in one piece: a blank between tag and text would change what the digest is of.
    element: { markup: `<style>${style}</style>` },
    digest: new Bun.CryptoHasher("sha256").update(style).digest("base64"),
  };
}

const siteFile = (name: string): string =>
  readFileSync(join(import.meta.dir, "../../../../site", name), "utf8");

export const inlineIcon = `data:image/svg+xml;base64,${Buffer.from(siteFile("icon.svg")).toString("base64")}`;
