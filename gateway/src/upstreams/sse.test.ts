import { expect, test } from "bun:test";
import fc from "fast-check";
import { FrameCutter, frameBytesMax } from "./sse.ts";

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
