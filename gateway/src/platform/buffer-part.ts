/**
 * Of a small part a copy: the first view of a buffer, as sockets hand it over, moves all of it to another place, which costs
 * several times as much. And of one that is the smaller part of it, because a view keeps the whole buffer in memory.
 */
export function partOf(bytes: Buffer, start: number, end: number, copiedBytesMax: number): Buffer {
  const length = end - start;
  if (length > copiedBytesMax && length * 2 >= bytes.length) return bytes.subarray(start, end);
  const part = Buffer.allocUnsafe(length);
  bytes.copy(part, 0, start, end);
  return part;
}
