import { isLive } from "../platform/life.ts";
import type { Key } from "./keys.ts";

/** The secrets of a key that work, newest first: while it is being rotated two do, and none of one that has ended. */
export const liveSecrets = (key: Key, nowMs: number): Key["secrets"] =>
  isLive(key, nowMs)
    ? key.secrets.filter(({ expiresAtMs }) => expiresAtMs === undefined || expiresAtMs > nowMs)
    : [];
