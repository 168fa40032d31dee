/**
 * Of a small part a copy: the first view of a buffer, as sockets hand it over, moves all of it to another place, which costs
 * several times as much.
 */
export function partOf(bytes: Buffer, start: number, end: number, copiedBytesMax: number): Buffer {
  if (end - start > copiedBytesMax) return bytes.subarray(start, end);
  const part = Buffer.allocUnsafe(end - start);
  bytes.copy(part, 0, start, end);
  return part;
}
