// Where a finished video lies: behind a link that is signed and runs out, as in an object store.

import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sliceOf } from "./byte-range.ts";

export interface VideoLinks {
  readonly sign: (link: { name: string; fromMs: number }) => string;
  readonly follow: (asked: AskedLink) => StoredObject;
}

interface AskedLink {
  /** After the public base: `/video/….mp4`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly range: string | null;
  readonly nowMs: number;
}

interface StoredObject {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

// The specification promises "a few hours".
const linkSeconds = 3 * 60 * 60;

export function createVideoLinks({ publicUrl, secret }: { publicUrl: string; secret: string }): VideoLinks {
  const signatureOf = (path: string, expires: string): string =>
    createHmac("sha256", secret).update(`GET\n${expires}\n${path}`).digest("hex");

  return {
    sign({ name, fromMs }) {
      const path = `/video/${name}.mp4`;
      const expires = `${Math.floor(fromMs / 1000) + linkSeconds}`;
      return `${publicUrl}${path}?Expires=${expires}&Signature=${signatureOf(path, expires)}`;
    },

    // A good signature is proof enough that there was such a video: nothing has to be remembered for it.
    follow({ path, query, range, nowMs }) {
      const expires = query.get("Expires") ?? "";
      const signature = query.get("Signature") ?? "";
      if (expires === "" || signature === "")
        return denied("AccessDenied", "You have no right to access this object.");
      if (!isSame(signature, signatureOf(path, expires))) {
        return denied("SignatureDoesNotMatch", "The request signature does not match the one we calculated.");
      }
      if (nowMs >= Number(expires) * 1000) return denied("AccessDenied", "Request has expired.");

      const { status, headers, bytes } = sliceOf(sample, range);
      return { status, headers: { "content-type": "video/mp4", ...headers }, bytes };
    },
  };
}

// Every video is this one; make-sample.sh tells how it was made.
const sample = new Uint8Array(readFileSync(join(import.meta.dir, "sample.mp4")));

function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const denied = (code: string, message: string): StoredObject => ({
  status: 403,
  headers: { "content-type": "application/xml" },
  bytes: new TextEncoder().encode(
    `<?xml version="1.0" encoding="UTF-8"?>\n<Error>\n  <Code>${code}</Code>\n  <Message>${message}</Message>\n</Error>\n`,
  ),
});
