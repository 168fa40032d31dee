import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { codeOf } from "../../platform/error-code.ts";

const inflaters = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

/** We ask for no compression; an upstream that compresses all the same is read within the same bound. */
export async function decompress(
  body: Uint8Array,
  encoding: string,
  bytesMax: number,
): Promise<Uint8Array | "too_large" | "malformed"> {
  const coding = encoding.trim().toLowerCase();
  if (coding === "identity" || coding === "") return body;
  if (coding !== "gzip" && coding !== "deflate" && coding !== "br") return "malformed";
  try {
    return await inflaters[coding](body, { maxOutputLength: bytesMax });
  } catch (error) {
    return codeOf(error) === "ERR_BUFFER_TOO_LARGE" ? "too_large" : "malformed";
  }
}
