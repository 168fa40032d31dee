// What the doubles' own tests share: opened parts that are closed, requests, and streams read to their end.

import { afterEach } from "bun:test";

interface Closable {
  readonly close: () => Promise<void>;
}

/** Opens for one test and closes after it. */
export function createKeeper(): <T extends Closable>(part: Promise<T>) => Promise<T> {
  const opened: Closable[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((part) => part.close()));
  });
  return async (part) => {
    const open = await part;
    opened.push(open);
    return open;
  };
}

export const post = (
  url: string,
  body: unknown,
  headers: Record<string, string> = { Authorization: "Bearer k-1" },
): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

export const get = (
  url: string,
  headers: Record<string, string> = { Authorization: "Bearer k-1" },
): Promise<Response> => fetch(url, { headers, redirect: "manual" });

/** An answer that must be a refusal of this status, as JSON. */
export async function refusalOf(answer: Promise<Response>): Promise<{ status: number; body: unknown }> {
  const got = await answer;
  return { status: got.status, body: await got.json() };
}

/** The data of each event, parsed where it is JSON; comments and names are left out. */
export const dataOf = (text: string): readonly unknown[] =>
  text
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length))
    .map((data) => (data === "[DONE]" ? data : (JSON.parse(data) as unknown)));

export interface ReadStream {
  readonly text: string;
  /** `broken`: reset, or closed before the end of the body. */
  readonly ending: "ended" | "broken" | "left";
}

/** Reads a body to its end, or leaves it once enough has come. */
export async function readStream(
  answer: Promise<Response>,
  { until = () => false }: { readonly until?: (text: string) => boolean } = {},
): Promise<ReadStream> {
  const reader = (await answer).body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const piece = await reader?.read();
      if (!piece || piece.done) return { text, ending: "ended" };
      // The body of a response is bytes, which its type forgets.
      text += decoder.decode(piece.value as Uint8Array, { stream: true });
      if (!until(text)) continue;
      await reader?.cancel();
      return { text, ending: "left" };
    }
  } catch {
    return { text, ending: "broken" };
  }
}

/** Waits until something holds that happens on the other side. */
export async function eventually(holds: () => boolean): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < 2000; waitedMs += 10) {
    if (holds()) return true;
    await Bun.sleep(10);
  }
  return holds();
}
