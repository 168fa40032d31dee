import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { sha256 } from "../../../contract/create-contract.ts";
import type { Asset } from "./assets.ts";

/** Something ready to be sent, in every coding a reader may ask for; what takes work is done once. */
export interface Content {
  readonly contentType: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly plain: () => Uint8Array;
  readonly brotli: () => Uint8Array;
  readonly gzip: () => Uint8Array;
}

export function contentOf(
  contentType: string,
  written: string,
  headers: Readonly<Record<string, string>>,
): Content {
  const bytes = Buffer.from(written);
  return {
    contentType,
    etag: etagOf(sha256(bytes)),
    headers: { ...headers, "cache-control": "no-cache" },
    plain: () => bytes,
    brotli: once(() => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })),
    gzip: once(() => gzipSync(bytes)),
  };
}

export function contentOfAsset(asset: Asset): Content {
  const { path, contentType, body, brotli } = asset;
  const plain = once(body);
  return {
    contentType,
    // The path holds the digest, so it says as much.
    etag: etagOf(path.slice(path.lastIndexOf("/") + 1)),
    headers: { "cache-control": "public, max-age=31536000, immutable" },
    plain,
    brotli: once(brotli ?? (() => brotliCompressSync(plain()))),
    gzip: once(() => gzipSync(plain())),
  };
}

/** Weak, because the same words travel in several codings. */
const etagOf = (digest: string): string => `W/"${digest.slice(0, 32)}"`;

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
