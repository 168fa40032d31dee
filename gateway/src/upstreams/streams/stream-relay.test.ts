import { expect, test } from "bun:test";
import fc from "fast-check";
import { testDispatch, testUpstream } from "../../operation/test-upstream.ts";
import type { Dispatch } from "../../operation/forwarder.ts";
import type { TokenReading } from "../../operation/token-reading.ts";
import type { HttpStream } from "../http/http-stream.ts";
import { protocols } from "../protocols.ts";
import { createStreamRelay } from "./stream-relay.ts";

type Vendor = "openai" | "anthropic";

function dispatchOf(vendor: Vendor, asksForUsage: boolean): Dispatch {
  const body = asksForUsage ? { stream_options: { include_usage: true } } : {};
  return testDispatch({
    upstream: testUpstream({ name: vendor, protocol: vendor }),
    service: { exchange: "chat", path: "", dialect: vendor },
    input: { params: {}, query: {}, body, rawBody: new Uint8Array(), rawQuery: "" },
    streaming: true,
  });
}

function rulesOf(vendor: Vendor, asksForUsage: boolean) {
  const rules = protocols[vendor]?.exchanges.chat?.stream?.(dispatchOf(vendor, asksForUsage), {});
  if (!rules) throw new Error(`${vendor} has no streams.`);
  return rules;
}

/** Bytes that come in pieces, cut wherever the numbers say. */
function streamOf(bytes: Uint8Array, cuts: readonly number[]): HttpStream {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  const pieces = [...places, bytes.length].map((end, at) => bytes.slice(places[at - 1] ?? 0, end));
  return {
    kind: "streaming",
    status: 200,
    start: (reader) => {
      for (const piece of pieces) reader.onPiece(piece);
      reader.onEnd("whole");
    },
    pause: () => {},
    resume: () => {},
    leave: () => {},
  };
}

function relayed(
  stream: HttpStream,
  rules: ReturnType<typeof rulesOf>,
): { shown: string; tokens: TokenReading } {
  const relay = createStreamRelay(stream, rules, []);
  const pieces: Uint8Array[] = [];
  let ends = 0;
  relay.start({ onPiece: (piece) => pieces.push(piece), onEnd: () => ends++ });
  expect(ends).toBe(1);
  return { shown: Buffer.concat(pieces).toString(), tokens: relay.read().tokens };
}

/** What a vendor may say between the start of its answer and the end; JSON written with or without escapes. */
const said = fc.oneof(
  { weight: 5, arbitrary: fc.string({ unit: "grapheme" }).map((text) => JSON.stringify(text)) },
  fc.string().map((text) => JSON.stringify(text)),
  fc.constantFrom('"\\u00e9\\ud83e\\udd8a"', '"a\\/b"', '"line\\nline"', '"content"', '"text"', '""'),
);
const frames: Readonly<Record<Vendor, (text: string, kind: number) => string>> = {
  openai: (text, kind) => {
    const head = `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":${kind === 4 ? 1 : 0},"delta":`;
    const tail = `,"finish_reason":null}]${kind === 5 ? "" : `,"usage":null`}}\n\n`;
    if (kind === 1) return ": a comment\n\n";
    if (kind === 2) return `${head}{"reasoning_content":${text}}${tail}`;
    if (kind === 3)
      return `${head}{"tool_calls":[{"index":0,"id":"i","function":{"name":"f","arguments":${text}}}]}${tail}`;
    return `${head}{"content":${text}}${tail}`;
  },
  anthropic: (text, kind) => {
    const event = (type: string, rest: string): string =>
      `event: ${type}\ndata: {"type":"${type}","index":0,${rest}}\n\n`;
    if (kind === 1) return 'event: ping\ndata: {"type": "ping"}\n\n';
    if (kind === 2) return event("content_block_stop", '"x":0');
    if (kind === 3) return event("content_block_start", '"content_block":{"type":"text","text":""}');
    return event("content_block_delta", `"delta":{"type":"text_delta","text":${text}}`);
  },
};

test.each(["openai", "anthropic"] as const)(
  "frames that fit the mould of the one before are shown and counted as if each were read in full: %s",
  (vendor) => {
    const piece = fc.record({ text: said, kind: fc.oneof(fc.constant(0), fc.nat(6)) });
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 20 }),
        fc.array(fc.nat(5_000), { maxLength: 12 }),
        fc.boolean(),
        (pieces, cuts, asksForUsage) => {
          const text = pieces.map(({ text: one, kind }) => frames[vendor](one, kind)).join("");
          const bytes = Buffer.from(frames[vendor]('""', 3) + text);
          const quick = relayed(streamOf(bytes, cuts), rulesOf(vendor, asksForUsage));
          const slow = { ...rulesOf(vendor, asksForUsage), alike: false };
          expect(quick).toEqual(relayed(streamOf(bytes, []), slow));
        },
      ),
      { numRuns: 300 },
    );
  },
);

test("what is not changed passes as the very bytes that came", () => {
  const bytes = Buffer.from(frames.openai('"a"', 5) + frames.openai('"b"', 5));
  const relay = createStreamRelay(streamOf(bytes, []), rulesOf("openai", true), []);
  const pieces: Uint8Array[] = [];
  relay.start({ onPiece: (piece) => pieces.push(piece), onEnd: () => {} });
  expect(pieces[0]).toEqual(new Uint8Array(bytes));
});

test("a secret is withheld wherever it comes among frames of one mould, and what came before it passes", () => {
  const secret = "sk-operator-0123456789";
  for (const hidden of [`"${secret}"`, `"so: ${secret}, and on"`]) {
    for (const together of [false, true]) {
      const before = frames.openai('"a"', 5) + frames.openai('" short"', 5);
      const bytes = Buffer.from(before + frames.openai(hidden, 5) + frames.openai('"b"', 5));
      const cuts = together ? [] : [before.length / 2, before.length];
      const relay = createStreamRelay(streamOf(bytes, cuts), rulesOf("openai", true), [secret]);
      const pieces: Uint8Array[] = [];
      relay.start({ onPiece: (piece) => pieces.push(piece), onEnd: () => {} });
      const shown = Buffer.concat(pieces).toString();
      expect(shown).toStartWith(before);
      expect(shown).not.toContain(secret);
      expect(shown).not.toContain('"b"');
    }
  }
});
