// A small picture out of a text: real PNG bytes, the same every time.

import { crc32, deflateSync } from "node:zlib";
import { createSeeded } from "../../seeded.ts";

export function pngOf({ seed, width, height }: { seed: string; width: number; height: number }): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits for each of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pixels({ seed, width, height }))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A slope from one colour to another, each row after the byte that says it is not filtered. */
function pixels({ seed, width, height }: { seed: string; width: number; height: number }): Uint8Array {
  const seeded = createSeeded(`picture ${seed}`);
  const colour = () => Array.from({ length: 3 }, () => seeded.integer({ from: 0, to: 255 }));
  const [from, to] = [colour(), colour()];
  const row = (y: number): number[] => [
    0,
    ...Array.from({ length: width }, (_, x) => (x / width + y / height) / 2).flatMap((share) =>
      from.map((start, i) => Math.round(start + ((to[i] ?? 0) - start) * share)),
    ),
  ];
  return Uint8Array.from(Array.from({ length: height }, (_, y) => row(y)).flat());
}

function chunk(type: string, data: Uint8Array): Buffer {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(typed), 4);
  return Buffer.concat([ends.subarray(0, 4), typed, ends.subarray(4)]);
}
