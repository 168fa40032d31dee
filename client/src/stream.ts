import { membersOf } from "./read-answer.ts";

/** One event of a stream, as the dialect sent it. */
export interface StreamEvent {
  readonly event: string | undefined;
  readonly data: string;
}

/** What the gateway says about the whole call in the last comment of a stream. */
export interface StreamEnd {
  readonly costMicrosUsd: number | undefined;
}

/** Larger events are no events: whoever sends them means harm or is broken. */
const eventCharsMax = 16 * 1024 * 1024;

/**
 * Reads server-sent events; returns what the closing comment says when the stream has ended. A stream in which nothing
 * comes for `silenceMaxMs`, not even the comments that keep it alive, counts as cut.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  silenceMaxMs: number,
): AsyncGenerator<StreamEvent, StreamEnd> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let event: string | undefined;
  let data: string[] = [];
  let end: StreamEnd = { costMicrosUsd: undefined };
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMaxMs);
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      if (rest.length > eventCharsMax) throw new Error("An event of the stream is too large.");
      // A lone CR at the end may be the first half of a CRLF, unless nothing comes any more.
      const lines = rest.split(done ? /\r\n|\n|\r/ : /\r\n|\n|\r(?!$)/);
      // What has no end of line yet, or never gets one, is no line.
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield { event, data: data.join("\n") };
          event = undefined;
          data = [];
        } else if (line.startsWith(":")) {
          end = readEnd(line) ?? end;
        } else {
          const [, field = "", text = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
          if (field === "event") event = text;
          if (field === "data") data.push(text);
        }
      }
      if (done) return end;
    }
  } finally {
    // Whoever stops reading early also stops the gateway from waiting for them.
    await reader.cancel().catch(() => {});
  }
}

async function readWithin(
  reader: { readonly read: () => Promise<{ done: boolean; value?: Uint8Array | undefined }> },
  silenceMaxMs: number,
): Promise<{ done: boolean; value?: Uint8Array | undefined }> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("Nothing came for too long.")), silenceMaxMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

function readEnd(comment: string): StreamEnd | undefined {
  const [, json] = /^: ?tollgate (\{.*\})$/.exec(comment) ?? [];
  if (json === undefined) return undefined;
  try {
    const cost = membersOf(JSON.parse(json))["cost_micros_usd"];
    return { costMicrosUsd: typeof cost === "number" ? cost : undefined };
  } catch {
    return undefined;
  }
}
