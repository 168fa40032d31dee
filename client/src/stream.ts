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

/** The gateway passes events of up to 32 MiB. Whoever sends a larger one means harm or is broken. */
const eventCharsMax = 34 * 1024 * 1024;

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
  const splitter = createLineSplitter();
  let event: string | undefined;
  let data: string[] = [];
  let eventChars = 0;
  let end: StreamEnd = { costMicrosUsd: undefined };
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMaxMs);
      const lines = splitter.push(done ? decoder.decode() : decoder.decode(value, { stream: true }), done);
      for (const line of lines) {
        eventChars += line.length;
        if (line === "") {
          if (data.length > 0) yield { event, data: data.join("\n") };
          event = undefined;
          data = [];
          eventChars = 0;
        } else if (line.startsWith(":")) {
          end = readEnd(line) ?? end;
        } else {
          const { field, text } = readField(line);
          if (field === "event") event = text;
          if (field === "data") data.push(text);
        }
      }
      if (eventChars + splitter.waitingChars() > eventCharsMax) {
        throw new Error("An event of the stream is too large.");
      }
      if (done) return end;
    }
  } finally {
    // Leaving early also tells the gateway that nobody is reading.
    await reader.cancel().catch(() => {});
  }
}

/** A name, a colon, and its value without one leading space; a line without a colon is a name alone. */
function readField(line: string): { readonly field: string; readonly text: string } {
  const colon = line.indexOf(":");
  if (colon === -1) return { field: line, text: "" };
  return { field: line.slice(0, colon), text: line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1) };
}

/** Cuts text into lines as it comes. What waits for its end is not looked at again with every piece. */
function createLineSplitter() {
  let waiting: string[] = [];
  let waitingChars = 0;
  let heldBack = "";

  const wait = (text: string): void => {
    waiting.push(text);
    waitingChars += text.length;
  };

  return {
    /** The lines that are complete by now. What has no line end when the stream ends is dropped. */
    push: (piece: string, isLast: boolean): string[] => {
      const text = heldBack + piece;
      // A lone CR at the end may be the first half of a CRLF, unless nothing comes any more.
      heldBack = !isLast && text.endsWith("\r") ? "\r" : "";
      const [first = "", ...more] = text.slice(0, text.length - heldBack.length).split(/\r\n|\n|\r/);
      wait(first);
      if (more.length === 0) return [];
      const lines = [waiting.join(""), ...more.slice(0, -1)];
      waiting = [];
      waitingChars = 0;
      wait(more.at(-1) ?? "");
      return lines;
    },
    waitingChars: () => waitingChars,
  };
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
