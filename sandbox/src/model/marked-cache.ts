// A prompt cache that works where it is told to: beginnings that end at a mark are written, and read again
// by any later prompt that begins alike, marked there or not, until their time is over.
// Unlike the vendor's, it has no smallest size: a test should not need a page of text.

import type { CacheTime } from "./conversation.ts";
import { tokensUpTo, type Prompt } from "./prompt.ts";

export interface MarkedCache {
  readonly use: (prompt: { model: string; prompt: Prompt; nowMs: number }) => CacheUse;
}

/** Disjoint; what is left of the prompt's tokens was neither read nor written. */
export interface CacheUse {
  readonly read: number;
  readonly written5m: number;
  readonly written1h: number;
}

interface Kept {
  readonly tokens: number;
  readonly cacheFor: CacheTime;
  readonly untilMs: number;
}

const lifeMs = { "5m": 5 * 60_000, "1h": 60 * 60_000 } as const;
const keptMax = 50_000;

export function createMarkedCache(): MarkedCache {
  const kept = new Map<bigint, Kept>();

  const keep = (fingerprint: bigint, tokens: number, cacheFor: CacheTime, nowMs: number): void => {
    kept.delete(fingerprint);
    kept.set(fingerprint, { tokens, cacheFor, untilMs: nowMs + lifeMs[cacheFor] });
    const [oldest] = kept.keys();
    if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
  };

  return {
    use({ model, prompt: { segments }, nowMs }) {
      const lastMark = segments.findLastIndex(({ cacheFor }) => cacheFor !== undefined);
      const use = { read: 0, written5m: 0, written1h: 0 };
      const marks: { fingerprint: bigint; tokens: number; cacheFor: CacheTime }[] = [];
      let fingerprint = BigInt(Bun.hash(model));

      for (const [i, { text, image = "", cacheFor }] of segments.slice(0, lastMark + 1).entries()) {
        fingerprint = BigInt(Bun.hash(`${text}\n${image}`, fingerprint));
        const found = kept.get(fingerprint);
        if (found !== undefined && found.untilMs > nowMs) {
          use.read = found.tokens;
          keep(fingerprint, found.tokens, found.cacheFor, nowMs);
        } else if (cacheFor !== undefined) {
          marks.push({ fingerprint, tokens: tokensUpTo(segments.slice(0, i + 1)), cacheFor });
        }
      }

      let upTo = use.read;
      for (const { fingerprint: mark, tokens, cacheFor } of marks) {
        keep(mark, tokens, cacheFor, nowMs);
        // A mark inside what was read costs nothing more.
        if (cacheFor === "1h") use.written1h += Math.max(0, tokens - upTo);
        else use.written5m += Math.max(0, tokens - upTo);
        upTo = Math.max(upTo, tokens);
      }
      return use;
    },
  };
}
