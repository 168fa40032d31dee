import { messageOf } from "../platform/error-message.ts";

const probeTimeoutMs = 5_000;

/** "reachable", or why not. Any answer proves that somebody is there; what it says does not matter. */
export async function probe(url: string): Promise<string> {
  try {
    await fetch(url, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(probeTimeoutMs) });
    return "reachable";
  } catch (error) {
    return messageOf(error);
  }
}
