import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { sha256 } from "../../../contract/create-contract.ts";
import { scalarVersion } from "./scalar-version.ts";

const folder = join(import.meta.dir, "../../../../../site");

/** A file of the site. Its address holds its digest, so it may be kept for ever. */
export interface Asset {
  readonly path: string;
  readonly contentType: string;
  /** Undefined until it is read; the reference's program is large and most processes never serve it. */
  readonly body: () => Uint8Array;
  readonly brotli?: () => Uint8Array;
}

export interface Assets {
  readonly style: Asset;
  readonly script: Asset;
  readonly reference: Asset;
  readonly scalar: Asset;
  readonly icon: Asset;
}

export const loadAssets = (): Assets => ({
  style: textAsset("style.css", "text/css; charset=utf-8", ["colours.css", "style.css"]),
  script: textAsset("page.js", "text/javascript; charset=utf-8"),
  reference: textAsset("reference.js", "text/javascript; charset=utf-8"),
  scalar: scalarAsset(),
  icon: textAsset("icon.svg", "image/svg+xml"),
});

/** A file of one part or of several, read in their order. */
function textAsset(name: string, contentType: string, parts: readonly string[] = [name]): Asset {
  const bytes = Buffer.concat(parts.map((part) => readFileSync(join(folder, part))));
  const [stem = "", ending = ""] = name.split(".");
  return { path: `/assets/${stem}.${sha256(bytes).slice(0, 16)}.${ending}`, contentType, body: () => bytes };
}

/** Kept compressed: it is four times as large otherwise, and nearly every browser takes it as it lies here. */
function scalarAsset(): Asset {
  const { version, sha256: digest } = scalarVersion;
  const brotli = (): Uint8Array => readFileSync(join(folder, "scalar/standalone.js.br"));
  return {
    path: `/assets/scalar-${version}.${digest.slice(0, 16)}.js`,
    contentType: "text/javascript; charset=utf-8",
    body: () => brotliDecompressSync(brotli()),
    brotli,
  };
}
