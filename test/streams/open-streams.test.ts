import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { openTestGateway } from "../support/test-gateway.ts";

const streams = 8;
/** So long that what else lives in this process, and comes and goes meanwhile, is little beside them all. */
const questionBytes = 6 * 1024 * 1024;

const askedIn: Readonly<Record<string, (question: string) => object>> = {
  "/v1/chat/completions": (content) => ({ messages: [{ role: "user", content }] }),
  // Responses say again what they were asked for, of which the labels are the half that no vendor is told.
  "/v1/responses": (question) => {
    const half = question.slice(question.length / 2);
    return { instructions: half, input: "Go on.", metadata: { half } };
  },
};

test.each(Object.entries(askedIn))(
  "an open stream of %s keeps nothing long of what was asked",
  async (...given) => {
    const [path, bodyFor] = given;
    const vendor = openTalker();
    const tollgate = await openTestGateway({
      config: `
      sandbox: off
      upstreams: { vendor: { protocol: openai, url: "http://127.0.0.1:${vendor.port}/v1", key: sk-0123456789abcdef, responses: translated } }
      models: { talker: { via: [vendor], price: { input: 0.01, output: 0.01 }, max_output_tokens: 100 } }
      tiers: { free: { rpm: 1000, tpm: 1000000000, concurrency: 100 } }`,
    });
    try {
      const account = await tollgate.openAccount({ tier: "free" });
      const leaving = new AbortController();
      const open = async (question: string): Promise<void> => {
        const response = await tollgate.call(account, path, {
          method: "POST",
          body: JSON.stringify({ model: "talker", stream: true, ...bodyFor(question) }),
          signal: leaving.signal,
        });
        expect(response.status).toBe(200);
        const reader = response.body?.getReader();
        let heard = "";
        while (!heard.includes("Hello")) {
          const read = (await reader?.read()) as { value?: Uint8Array } | undefined;
          expect(read?.value).toBeDefined();
          heard += Buffer.from(read?.value ?? []).toString();
        }
      };
      /** How much the heap holds once so many streams with such questions are open. */
      const heapBytesWith = async (question: string): Promise<number> => {
        for (let count = 0; count < streams; count++) await open(question);
        return heapBytes();
      };
      const long = "long ".repeat(questionBytes / 5);
      // The first of each kind find the program cold, and may hold on to what they said while the others are opened.
      for (const question of [long, "short"]) await open(question);
      const before = await heapBytesWith("short");
      const withShort = await heapBytesWith("short");
      const usual = withShort - before;
      let withLong = await heapBytesWith(long);
      const kept = (): number => withLong - withShort - usual;
      const most = (streams * questionBytes) / 2;
      // So may the last of them for a moment, on a busy machine; what a stream keeps is kept however often one looks.
      for (let looks = 0; looks < 10 && kept() >= most; looks++) withLong = await heapBytes();
      expect(kept()).toBeLessThan(most);
      leaving.abort();
    } finally {
      await tollgate.close();
      vendor.stop(true);
    }
  },
);

/** Begins to answer as soon as it is asked anything, keeps nothing of it, and never ends. */
const openTalker = () =>
  Bun.listen<{ hasAnswered: boolean }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => {
        socket.data = { hasAnswered: false };
      },
      data: (socket) => {
        if (socket.data.hasAnswered) return;
        socket.data.hasAnswered = true;
        const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "Hello" } }] })}\n\n`;
        socket.write(
          "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        );
        socket.write(`${event.length.toString(16)}\r\n${event}\r\n`);
      },
    },
  });

/** What is in use once no more is let go: whoever has just been answered still holds on, and the collector takes its time. */
async function heapBytes(): Promise<number> {
  let least = Infinity;
  for (let unchanged = 0; unchanged < 2; unchanged++) {
    await Bun.sleep(20);
    Bun.gc(true);
    const { heapSize, extraMemorySize } = heapStats();
    const usedBytes = heapSize + extraMemorySize;
    if (usedBytes < least - questionBytes / 10) unchanged = 0;
    least = Math.min(least, usedBytes);
  }
  return least;
}
