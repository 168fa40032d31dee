// Small bodies that decompress to large ones.

import { constants, crc32, deflateRawSync, gzipSync } from "node:zlib";

/** Compresses again and again, for `Content-Encoding: gzip, gzip, …`. */
export function gzipLayers(bytes: Uint8Array, layers: number): Uint8Array {
  let coded = bytes;
  for (let layer = 0; layer < layers; layer += 1) coded = gzipSync(coded);
  return coded;
}

/**
 * One gzip member of `expandsToBytes` zeros, about a thousandth of the size. A fully flushed
 * deflate block stands alone, so one block is made and repeated: gigabytes cost no compression.
 */
export function gzipZeros(expandsToBytes: number): Uint8Array {
  const zeros = new Uint8Array(blockBytes);
  const fullBlock = flushedBlock(zeros);
  const parts: Uint8Array[] = [gzipHead];
  let checksum = 0;
  for (let left = expandsToBytes; left > 0; left -= blockBytes) {
    const content = left < blockBytes ? zeros.subarray(0, left) : zeros;
    parts.push(left < blockBytes ? flushedBlock(content) : fullBlock);
    checksum = crc32(content, checksum);
  }
  const tail = Buffer.alloc(8);
  tail.writeUInt32LE(checksum, 0);
  tail.writeUInt32LE(expandsToBytes % 2 ** 32, 4);
  return Buffer.concat([...parts, emptyLastBlock, tail]);
}

const blockBytes = 1024 * 1024;
const gzipHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
const emptyLastBlock = Buffer.from([3, 0]);

const flushedBlock = (content: Uint8Array): Uint8Array =>
  deflateRawSync(content, { finishFlush: constants.Z_FULL_FLUSH });
