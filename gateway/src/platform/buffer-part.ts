/**
 * A part of a buffer that a socket handed over. A small part is a copy, because the first view of such a buffer moves all of
 * it to another place, which costs several times as much. So is a part that is less than half, because a view keeps the whole
 * buffer in memory.
 */
export function partOf(bytes: Buffer, start: number, end: number, copiedBytesMax: number): Buffer {
  const length = end - start;
  if (length > copiedBytesMax && length * 2 >= bytes.length) return bytes.subarray(start, end);
  const part = Buffer.allocUnsafe(length);
  bytes.copy(part, 0, start, end);
  return part;
}
