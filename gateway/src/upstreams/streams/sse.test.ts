import { expect, test } from "bun:test";
import fc from "fast-check";
import { FrameCutter, frameBytesMax, FrameRoom } from "./sse.ts";

const line = fc.constantFrom("data: a", "event: é", ": c", "");
const lineEnd = fc.constantFrom("\n", "\r\n", "\r");

test("whole frames are cut off wherever the bytes are torn, and nothing is lost", () => {
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 20 }),
      lineEnd,
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (lines, end, sizes) => {
        const bytes = Buffer.from(lines.map((one) => one + end).join(""));
        const cutter = new FrameCutter();
        const runs: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          const run = cutter.push(bytes.subarray(at, at + size));
          if (run.length > 0) expect(Buffer.from(run).toString()).toEndWith(end + end);
          runs.push(run);
          at += size;
        }
        const rest = Buffer.from(cutter.rest()).toString();
        // Only a CR that came last may still be waiting for its LF.
        if (end !== "\r") expect(rest.trimStart()).not.toContain(end + end);
        expect(Buffer.concat(runs).toString() + rest).toBe(bytes.toString());
      },
    ),
  );
});

test("an event without end is not kept", () => {
  const cutter = new FrameCutter();
  const piece = new Uint8Array(frameBytesMax / 4).fill(0x61);
  for (let count = 0; count < 4; count++) expect(cutter.push(piece)).toHaveLength(0);
  expect(() => cutter.push(piece)).toThrow("longer than");
});

test("an image of megabytes is one event, whatever the pieces it comes in", () => {
  const image = `data: ${"iVBORw0KGgo=".repeat(512 * 1024)}`;
  for (const end of ["\n\n", "\r\n\r\n", "\r\r"]) {
    for (const size of [16_000, 16_001, 65_536, 65_537, 300_000]) {
      const bytes = Buffer.from(`data: a${end}${image}${end}data: b${end}data`);
      const cutter = new FrameCutter();
      const runs: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        const run = Buffer.from(cutter.push(bytes.subarray(at, at + size))).toString();
        if (run !== "") expect(run.endsWith(end)).toBe(true);
        runs.push(run);
      }
      expect(runs.join("") === `data: a${end}${image}${end}data: b${end}`).toBe(true);
      expect(Buffer.from(cutter.rest()).toString()).toBe("data");
    }
  }
});

test("a long event is not copied anew for each of its pieces", () => {
  const cutter = new FrameCutter();
  const piece = new Uint8Array(1_000).fill(0x61);
  const startedMs = performance.now();
  for (let sent = 0; sent < frameBytesMax - 2_000; sent += piece.length)
    expect(cutter.push(piece).length).toBe(0);
  expect(cutter.push(Buffer.from("\n\n")).length).toBeGreaterThan(frameBytesMax - 3_000);
  // To copy all of it for each piece would take minutes.
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});

test("all streams share the room for long events, and leave it when their callers have taken them", () => {
  const room = new FrameRoom(1_000_000);
  const [one, two, three] = [new FrameCutter(room), new FrameCutter(room), new FrameCutter(room)];
  const long = Buffer.from(`data: ${"a".repeat(600_000)}`);
  expect(one.push(long)).toHaveLength(0);
  expect(() => two.push(long)).toThrow("long at once");
  const short = Buffer.from("data: a\n\n");
  expect(Buffer.from(three.push(short)).toString()).toBe("data: a\n\n");
  expect(one.push(Buffer.from("\n\n"))).toHaveLength(long.length + 2);
  // Its caller may not have read it yet: only then does more come.
  expect(() => new FrameCutter(room).push(long)).toThrow("long at once");
  one.push(short);
  expect(three.push(long)).toHaveLength(0);
  three.close();
  expect(one.push(long)).toHaveLength(0);
});

test("what came whole before an event without end is still passed on", () => {
  const cutter = new FrameCutter();
  const frame = Buffer.from("data: a\n\n");
  const run = cutter.push(Buffer.concat([frame, new Uint8Array(frameBytesMax + 1).fill(0x61)]));
  expect(Buffer.from(run).toString()).toBe("data: a\n\n");
  expect(() => cutter.push(frame)).toThrow("longer than");
});

test("a frame that ended with a CR is passed on as soon as no LF can follow", () => {
  const cutter = new FrameCutter();
  expect(cutter.push(Buffer.from("data: a\r\r"))).toHaveLength(0);
  expect(Buffer.from(cutter.push(Buffer.from("d"))).toString()).toBe("data: a\r\r");
});
