/**
 * Gzip put together from blocks: a deflate stream may consist of blocks that were compressed at different times, and of
 * stored ones, which are not compressed. So what has not changed is not compressed again.
 */
import { constants, deflateRaw } from 'node:zlib';

/** Most bytes in a stored block: its length has two bytes. */
export const storedBytesMax = 0xffff;

/** Magic bytes, deflate, no flags, no time, fastest compression, unknown system. */
export const gzipHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
const gzipEndBytes = 8;

/** The compressed blocks of some bytes. They end at a byte, and none of them says that it is the last. */
export const compressedBlocks = (bytes: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    // Flushed, not finished.
    deflateRaw(
      bytes,
      { level: constants.Z_BEST_SPEED, finishFlush: constants.Z_SYNC_FLUSH },
      (error, blocks) => (error ? reject(error) : resolve(blocks)),
    ),
  );

/** A block that is not compressed: whether it is the last one, its length, the length's complement, its bytes. */
export function storedBlock(bytes: Buffer, isLast: boolean): Buffer {
  const head = Buffer.from([isLast ? 1 : 0, 0, 0, 0, 0]);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(storedBytesMax - bytes.length, 3);
  return Buffer.concat([head, bytes]);
}

/** @param sum CRC-32 of the plain bytes */
export function gzipEnd(sum: number, bytes: number): Buffer {
  const end = Buffer.alloc(gzipEndBytes);
  end.writeUInt32LE(sum, 0);
  end.writeUInt32LE(bytes % 2 ** 32, 4);
  return end;
}
